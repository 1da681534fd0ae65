//! Any input produces a frame or a refusal, never a panic.

use proptest::prelude::*;
use zot_protocol::{
    FromExtension, FromHost, rpc,
    validate::{self, RefusalKind},
};

fn read(line: &[u8]) -> Result<FromExtension, validate::Refusal> {
    // The other sets must not panic on the same bytes either.
    let _ = validate::frame::<FromHost>(line);
    let _ = validate::frame::<rpc::Command>(line);
    let _ = validate::manifest(line);
    let _ = validate::config(line);
    validate::frame(line)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_do_not_panic(line in proptest::collection::vec(any::<u8>(), 0..512)) {
        if let Err(refusal) = read(&line) {
            let message = refusal.to_string();
            prop_assert!(!message.is_empty());
            prop_assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }

    /// Input that resembles a frame exercises more code than random bytes.
    #[test]
    fn mutated_frames_do_not_panic(
        which in 0..8_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let frames = [
            r#"{"type":"tool_result","id":"1","content":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/png","data":"aGk="}]}"#,
            r#"{"type":"event_intercept_response","id":"1","block":true,"reason":"\u00e9","modified_args":{"a":[1,2.5,null]}}"#,
            r#"{"type":"register_tool","name":"x","schema":{"type":"object","properties":{"a":{"type":"string"}}}}"#,
            r#"{"type":"command_response","id":"1","action":"open_panel","open_panel":{"id":"p","lines":["a","b"]}}"#,
            r#"{"type":"event_intercept","id":"1","event":"tool_call","tool_name":"bash","tool_args":{"command":"ls"}}"#,
            r#"{"type":"prompt","message":"hi","images":[{"mime_type":"image/png","data":"aGk="}]}"#,
            r#"{"name":"x","exec":"./x","permissions":{"fs":{"read":["$cwd"]},"net":[443]}}"#,
            r#"{"type":"hello","name":"x","capabilities":["tools","commands"]}"#,
        ];
        let mut line = frames[which].as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(line.len());
            line[at] = byte;
        }
        if let Err(refusal) = read(&line) {
            prop_assert!(!refusal.to_string().chars().any(char::is_control), "{refusal}");
        }
    }
}

#[test]
fn ten_thousand_nested_lists_are_rejected() {
    let deep = |open: &str, close: &str| {
        format!(
            r#"{{"type":"tool_result","content":{}{},"id":"7"}}"#,
            open.repeat(10_000),
            close.repeat(10_000)
        )
    };
    for line in [deep("[", "]"), deep(r#"{"a":"#, "}")] {
        let refusal = read(line.as_bytes()).expect_err("refused");
        assert_eq!(refusal.reason, "nested more than 127 levels deep");
        assert_eq!(
            refusal.id.as_ref().map(zot_protocol::Id::as_str),
            Some("7"),
            "the pending request must fail"
        );
    }
}

#[test]
fn strings_of_four_mebibytes_are_accepted() {
    let text = "x".repeat(4 << 20);
    let line = format!(
        r#"{{"type":"tool_result","id":"7","content":[{{"type":"text","text":"{text}"}}]}}"#
    );
    assert!(matches!(
        read(line.as_bytes()),
        Ok(FromExtension::ToolResult(_))
    ));

    let line = format!(r#"{{"type":"notify","level":"{text}","message":"m"}}"#);
    let refusal = read(line.as_bytes()).expect_err("refused");
    assert!(refusal.to_string().len() < 300, "the message must be short");

    let line = format!(r#"{{"type":"{text}"}}"#);
    assert!(
        matches!(read(line.as_bytes()), Ok(FromExtension::Unknown(unknown)) if unknown.name == text)
    );

    let line = format!(r#"{{"type":"register_tool","name":"{text}","schema":{{}}}}"#);
    assert!(
        read(line.as_bytes())
            .expect_err("refused")
            .to_string()
            .len()
            < 300
    );
}

#[test]
fn a_duplicate_after_many_keys_is_found() {
    let mut line = String::from(r#"{"type":"submit","text":"a""#);
    for key in 0..40_000 {
        line += &format!(r#","k{key}":0"#);
    }
    assert!(read(format!("{line}}}").as_bytes()).is_ok());
    let refusal = read(format!(r#"{line},"k7":1}}"#).as_bytes()).expect_err("refused");
    assert_eq!(refusal.to_string(), "submit: /k7: duplicate key");
}

/// A list has one error per invalid item. Only the first one is reported.
#[test]
fn only_the_first_of_many_errors_is_reported() {
    let line = format!(
        r#"{{"type":"tool_result","id":"1","content":[1{}]}}"#,
        ",1".repeat(90_000)
    );
    let refusal = read(line.as_bytes()).expect_err("refused");
    assert_eq!(
        refusal.to_string(),
        "tool_result: /content/0: 1 is not an object"
    );
}

/// A parsed list of empty lists takes dozens of times as much memory as its text.
#[test]
fn a_frame_with_too_many_values_is_rejected_but_its_id_and_block_are_read() {
    let around = |unit: &str, bytes: usize| {
        let many = vec![unit; bytes / (unit.len() + 1)].join(",");
        format!(r#"{{"type":"event_intercept_response","x":[{many}],"id":"7","block":true}}"#)
    };
    for unit in ["[]", "1", r#"{"a":1}"#, "[[[[[[[[]]]]]]]]"] {
        let refusal = read(around(unit, 4_000_000).as_bytes()).expect_err("refused");
        assert_eq!(
            refusal.to_string(),
            "event_intercept_response: more than 100000 values and keys, counting an object or a list as 8"
        );
        assert_eq!(refusal.id.as_ref().map(zot_protocol::Id::as_str), Some("7"));
        assert!(refusal.says_block, "the refusal must report the block");
        assert!(read(around(unit, 20_000).as_bytes()).is_ok(), "{unit}");
    }
    let line = around("1", 190_000);
    let most = |more: &str| line.replace("[1,", &format!("[{more}1,"));
    assert!(read(most(&"1,".repeat(4_977)).as_bytes()).is_ok());
    assert!(read(most(&"1,".repeat(4_978)).as_bytes()).is_err());
    // Brackets inside a string are not values.
    let text = "[{,:".repeat(1_000_000);
    let line = format!(r#"{{"type":"submit","text":"{text}"}}"#);
    assert!(read(line.as_bytes()).is_ok());
}

#[test]
fn an_unknown_type_is_reported_without_parsing_the_rest() {
    let unknown = |line: &str| validate::unknown_type::<FromExtension>(line.as_bytes());
    let many = "[".repeat(1_000_000);
    let behind = format!(r#"{{"type":"tea_time","x":{many}"#);
    let before = format!(r#"{{"x":[{}],"type":"tea_time"}}"#, "[],".repeat(1_000_000));
    for line in [&behind, &before] {
        assert_eq!(unknown(line).as_deref(), Some("tea_time"));
    }
    for line in [
        r#"{"type":"submit"}"#,
        r#"{"x":{"type":"tea_time"}}"#,
        "tea",
    ] {
        assert_eq!(unknown(line), None, "{line}");
    }
}

/// Even for long names, pointers and strings, the message is one short line and the `error` frame
/// stays small.
#[test]
fn error_messages_stay_short() {
    let long = "x\\u009b".repeat(200_000);
    let lines = [
        format!(r#"{{"type":"submit","{long}":1,"{long}":2}}"#),
        format!(r#"{{"type":"{long}","id":"{long}","#),
        format!(
            r#"{{"type":"submit","id":"{}","text":5}}"#,
            "y".repeat(100_000)
        ),
        format!(r#"{{"type":"{}","x":nul}}"#, "\u{9b}".repeat(500_000)),
    ];
    for line in lines {
        let refusal = read(line.as_bytes()).expect_err("refused");
        assert!(
            refusal.to_string().len() < 1500,
            "{} bytes",
            refusal.to_string().len()
        );
        assert!(!refusal.to_string().chars().any(char::is_control));
        let frame = serde_json::to_vec(&FromHost::from(refusal.to_frame())).expect("serialises");
        assert!(frame.len() < 8192, "{} bytes", frame.len());
    }
}

#[test]
fn integers_may_have_a_decimal_point() {
    let line = br#"{"type":"event","event":"turn_start","step":3.0}"#;
    let FromHost::Event(zot_protocol::Event::TurnStart(start)) =
        validate::frame(line).expect("valid")
    else {
        panic!()
    };
    assert_eq!(start.step, 3);
    let (manifest, _) = validate::manifest(
        br#"{"name":"x","exec":"x","timeouts":{"tool_ms":2e3},"permissions":{"net":[443.0]}}"#,
    )
    .expect("valid");
    assert_eq!(
        manifest
            .timeouts
            .expect("the manifest sets a timeout")
            .tool_ms,
        Some(2000)
    );
}

/// With the feature `raw_value`, `serde_json` parses the values of these keys again, each with its
/// own depth limit.
#[test]
fn private_keys_of_serde_json_are_rejected() {
    let mut nested = "1".to_owned();
    for _ in 0..100 {
        let text = format!("{}{nested}{}", "[".repeat(120), "]".repeat(120));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        nested = format!(r#"{{"$serde_json::private::RawValue":"{text}"}}"#);
    }
    let values = [
        nested.as_str(),
        r#"{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}"#,
        r#"{"a":[{"\u0024serde_json::private::Number":"1"}]}"#,
    ];
    for value in values {
        let line = format!(
            r#"{{"type":"tool_result","id":"1","content":[],"structured_content":{value}}}"#
        );
        let refusal = validate::frame::<FromExtension>(line.as_bytes()).expect_err("refused");
        assert_eq!(refusal.kind, RefusalKind::Malformed);
        assert!(refusal.to_string().contains("key is reserved"), "{refusal}");
        assert_eq!(
            refusal.id,
            Some("1".into()),
            "the pending request must fail"
        );
        assert!(
            refusal.pointer.starts_with("/structured_content/"),
            "{}",
            refusal.pointer
        );
        assert!(validate::strict_json(line.as_bytes()).is_err());
    }
}
