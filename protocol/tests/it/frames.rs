//! Every frame round-trips: JSON decodes to a type and encodes to the same JSON.

use serde_json::{Value, json};
use zot_protocol::{
    Content, FromExtension, FromHost, StopReason, Tagged, rpc,
    schema::{Frames, of_frame},
    validate::{self, Validated},
};

/// Returns the examples of a frame's schema. Every frame has at least one.
fn examples<F: Frames>(name: &str) -> Vec<Value> {
    let document = of_frame::<F>(name).expect("a listed frame");
    document.schema["examples"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn round_trip<F: Validated + std::fmt::Debug + PartialEq>() {
    for name in F::NAMES {
        let examples = examples::<F>(name);
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let line = example.to_string();
            let frame = validate::frame::<F>(line.as_bytes())
                .unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
            assert_eq!(frame.name(), *name);
            let back = serde_json::to_value(&frame).expect("serialises");
            assert_eq!(back, example, "{name} did not round-trip");
            assert!(
                serde_json::to_string(&frame)
                    .expect("serialises")
                    .starts_with(&format!("{{\"type\":\"{name}\""))
            );

            // Without validation, serde alone decodes keys in any order.
            assert_eq!(serde_json::from_str::<F>(&line).expect("decodes"), frame);
            let mut reversed = serde_json::Map::new();
            for (key, value) in example.as_object().expect("an object").iter().rev() {
                reversed.insert(key.clone(), value.clone());
            }
            assert_eq!(
                serde_json::from_value::<F>(reversed.into()).expect("decodes"),
                frame
            );
        }
    }
}

#[test]
fn every_frame_round_trips() {
    round_trip::<FromExtension>();
    round_trip::<FromHost>();
    round_trip::<rpc::Command>();
    round_trip::<rpc::Event>();
}

#[test]
fn the_host_writes_compact_lines_with_the_type_first() {
    let ack = FromHost::from(zot_protocol::HelloAck::new(
        1, "0.1.0", "demo", "demo", "/w",
    ));
    assert_eq!(
        serde_json::to_string(&ack).expect("serialises"),
        r#"{"type":"hello_ack","protocol_version":1,"zot_version":"0.1.0","provider":"demo","model":"demo","cwd":"/w"}"#,
    );
    let asked = FromHost::from(zot_protocol::EventIntercept::new(
        "7",
        zot_protocol::TurnStartIntercept::new(3).into(),
    ));
    assert_eq!(
        serde_json::to_string(&asked).expect("serialises"),
        r#"{"type":"event_intercept","id":"7","event":"turn_start","step":3}"#,
    );
    let invoked = FromHost::from(zot_protocol::CommandInvoked::new("7", "now", ""));
    assert_eq!(
        serde_json::to_string(&invoked).expect("serialises"),
        r#"{"type":"command_invoked","id":"7","name":"now","args":""}"#,
    );
}

#[test]
fn an_unknown_frame_keeps_its_name_and_fields() {
    let line = r#"{"type":"dance","style":"tango","steps":[1,2],"id":"4"}"#;
    let frame = validate::frame::<FromExtension>(line.as_bytes())
        .expect("an unknown frame is not an error");
    assert_eq!(frame.name(), "dance");
    assert!(
        matches!(&frame, FromExtension::Unknown(unknown) if unknown.fields["style"] == "tango")
    );
    assert_eq!(serde_json::to_string(&frame).expect("serialises"), line);
}

#[test]
fn unknown_fields_are_ignored_everywhere() {
    fn tolerated<F: Validated>() {
        for name in F::NAMES {
            for mut example in examples::<F>(name) {
                example["x_unheard_of"] = json!({"deep": [1, null, "é"]});
                validate::frame::<F>(example.to_string().as_bytes())
                    .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            }
        }
    }
    tolerated::<FromExtension>();
    tolerated::<FromHost>();
    tolerated::<rpc::Command>();
    tolerated::<rpc::Event>();
}

#[test]
fn open_sets_keep_unknown_names() {
    let line = r#"{"type":"event","event":"turn_end","stop":"end"}"#;
    let frame: FromHost = validate::frame(line.as_bytes()).expect("Go sends `end`");
    let FromHost::Event(zot_protocol::Event::TurnEnd(end)) = &frame else {
        panic!("{frame:?}")
    };
    assert_eq!(end.stop, StopReason::Other("end".into()));
    assert_eq!(serde_json::to_string(&frame).expect("serialises"), line);

    let line = r#"{"type":"subscribe","events":["turn_start","tea_time"]}"#;
    let frame: FromExtension =
        validate::frame(line.as_bytes()).expect("only the unknown event is ignored");
    assert_eq!(serde_json::to_string(&frame).expect("serialises"), line);
}

#[test]
fn an_unknown_block_from_a_newer_host_decodes() {
    let block: Content =
        serde_json::from_str(r#"{"type":"audio","data":"aGk="}"#).expect("unknown blocks decode");
    assert_eq!(block.name(), "audio");
}

#[test]
fn null_means_absent_and_absent_means_empty() {
    let pairs = [
        (
            r#"{"type":"hello","name":"x","version":null,"capabilities":null}"#,
            r#"{"type":"hello","name":"x"}"#,
        ),
        (
            r#"{"type":"tool_result","id":"1","content":[{"type":"text"}],"is_error":null}"#,
            r#"{"type":"tool_result","id":"1","content":[{"type":"text","text":""}]}"#,
        ),
        (
            r#"{"type":"notify","level":"info"}"#,
            r#"{"type":"notify","level":"info","message":""}"#,
        ),
        (
            r#"{"type":"subscribe","events":null}"#,
            r#"{"type":"subscribe"}"#,
        ),
        (
            r#"{"type":"event_intercept_response","id":"1","block":null,"modified_args":null,"replace_content":null}"#,
            r#"{"type":"event_intercept_response","id":"1"}"#,
        ),
        (
            r#"{"type":"command_response","id":"1","action":null,"open_panel":null}"#,
            r#"{"type":"command_response","id":"1"}"#,
        ),
    ];
    for (given, meant) in pairs {
        let frame: FromExtension = validate::frame(given.as_bytes())
            .unwrap_or_else(|refusal| panic!("{given}: {refusal}"));
        assert_eq!(serde_json::to_string(&frame).expect("serialises"), meant);
    }
}

/// The Go SDK marks its fields `omitempty`: empty strings, lists and flags are omitted. These are
/// its frames with all optional fields empty.
#[test]
fn frames_from_the_go_sdk_decode() {
    let frames = [
        r#"{"type":"hello","name":"x"}"#,
        r#"{"type":"register_command","name":"x"}"#,
        r#"{"type":"register_tool","name":"x","schema":{"type":"object"}}"#,
        r#"{"type":"subscribe"}"#,
        r#"{"type":"command_response","id":"1"}"#,
        r#"{"type":"command_response","id":"1","action":"prompt"}"#,
        r#"{"type":"command_response","id":"1","action":"display"}"#,
        r#"{"type":"tool_result","id":"1","content":[]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"text"}]}"#,
        r#"{"type":"event_intercept_response","id":"1"}"#,
        r#"{"type":"event_intercept_response","id":"1","block":true}"#,
        r#"{"type":"notify","level":"info"}"#,
        r#"{"type":"panel_render","panel_id":"p"}"#,
        r#"{"type":"submit"}"#,
    ];
    for frame in frames {
        validate::frame::<FromExtension>(frame.as_bytes())
            .unwrap_or_else(|refusal| panic!("{frame}: {refusal}"));
    }
}

/// The consumer declares its own types, so that the test does not depend on ours.
#[test]
fn our_frames_decode_into_independent_types() {
    #[derive(serde::Deserialize)]
    struct TheirToolCall {
        r#type: String,
        id: String,
        name: String,
        args: std::collections::HashMap<String, String>,
    }
    let args = json!({"city": "Berlin"})
        .as_object()
        .expect("an object")
        .clone();
    let call = FromHost::from(zot_protocol::ToolCall::new("a-1", "weather", args));
    let theirs: TheirToolCall =
        serde_json::from_str(&serde_json::to_string(&call).expect("serialises")).expect("reads");
    assert_eq!(
        (
            theirs.r#type.as_str(),
            theirs.id.as_str(),
            theirs.name.as_str()
        ),
        ("tool_call", "a-1", "weather")
    );
    assert_eq!(theirs.args["city"], "Berlin");
}
