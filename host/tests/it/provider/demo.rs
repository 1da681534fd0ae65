//! The demo provider: its default answer, `/call` and scripts.

use std::time::Duration;

use serde_json::json;
use zot_host::{
    message::{Block, Message, Role},
    provider::{
        Delta, Demo, Provider, Tokens,
        demo::{Script, ScriptError},
    },
};
use zot_protocol::{Content, StopReason};

use super::{all, broken, joined, message, request_to, stop, user, whole};

fn request(messages: Vec<Message>) -> super::Request {
    request_to("demo", messages)
}

fn script(text: &str) -> Demo {
    Demo::with_script(Script::parse(text).unwrap())
}

#[tokio::test]
async fn the_default_answer_is_deterministic_and_explains_how_to_set_a_key() {
    let demo = Demo::new();
    let deltas = whole(demo.stream(request(vec![user("what is 2 + 2?")]))).await;
    let pieces = deltas
        .iter()
        .filter(|delta| matches!(delta, Delta::Text(_)));
    assert!(pieces.count() > 5, "the answer is streamed");
    let again = whole(demo.stream(request(vec![user("what is 2 + 2?")]))).await;
    assert_eq!(deltas, again);
    let [Delta::Text(text), Delta::Usage(tokens), end] = &joined(deltas)[..] else {
        panic!("unexpected deltas");
    };
    assert!(
        text.contains("demo model") && text.contains("ANTHROPIC_API_KEY"),
        "{text}"
    );
    assert!(tokens.input > 0 && tokens.output > 0);
    assert_eq!(end, &stop(StopReason::EndTurn));
}

#[tokio::test]
async fn a_call_line_calls_a_tool_and_answers_with_its_result() {
    let prompt = user("please\n  /call read {\"path\": \"ä\"}\n/call list\n/callous is no call");
    let deltas = joined(whole(Demo::new().stream(request(vec![prompt.clone()]))).await);
    let call = |id: &str, name: &str, args: &str| {
        [
            Delta::ToolStart {
                id: id.into(),
                name: name.into(),
            },
            Delta::ToolArgs {
                id: id.into(),
                delta: args.into(),
            },
            Delta::ToolEnd { id: id.into() },
        ]
    };
    assert_eq!(deltas[..3], call("demo_1_1", "read", "{\"path\": \"ä\"}"));
    assert_eq!(deltas[3..6], call("demo_1_2", "list", "{}"));
    assert_eq!(deltas.last(), Some(&stop(StopReason::ToolUse)));

    let result = |id: &str, text: &str| Block::ToolResult {
        call_id: id.into(),
        is_error: false,
        content: vec![Content::text(text)],
    };
    let results = message(
        Role::Tool,
        vec![result("demo_1_1", "one two"), result("demo_1_2", "three")],
    );
    let deltas = joined(whole(Demo::new().stream(request(vec![prompt, results]))).await);
    assert_eq!(deltas[0], Delta::Text("one two\nthree".into()));
    assert_eq!(deltas.last(), Some(&stop(StopReason::EndTurn)));
}

#[tokio::test]
async fn an_invalid_call_line_is_explained() {
    for (line, message) in [
        ("/call", "Missing tool name"),
        ("/call read {", "not JSON"),
        ("/call read [1]", "must be a JSON object"),
    ] {
        let deltas = joined(whole(Demo::new().stream(request(vec![user(line)]))).await);
        let Delta::Text(text) = &deltas[0] else {
            panic!("{deltas:?}");
        };
        assert!(text.contains(message), "{text}");
    }
}

#[tokio::test]
async fn a_script_plays_turn_by_turn_and_fails_when_it_ends() {
    let demo = script(concat!(
        r#"{"thinking": "Hm.", "signature": "seal", "text": ["Let ", "me look."], "tool_call": {"id": "c1", "name": "read", "args": {"path": "a"}}}"#,
        "\n\n",
        r#"[{"text": "Done."}, {"usage": {"input": 9, "output": 4, "cache_read": 2}}, {"stop": "length"}]"#,
        "\n",
    ));
    let deltas = joined(whole(demo.stream(request(vec![user("hi")]))).await);
    assert_eq!(
        deltas[..4],
        [
            Delta::Thinking("Hm.".into()),
            Delta::ThinkingEnd(Some("seal".into())),
            Delta::Text("Let me look.".into()),
            Delta::ToolStart {
                id: "c1".into(),
                name: "read".into()
            },
        ]
    );
    assert_eq!(deltas.last(), Some(&stop(StopReason::ToolUse)));
    let deltas = whole(demo.stream(request(vec![user("hi")]))).await;
    let tokens = Tokens {
        input: 9,
        output: 4,
        cache_read: 2,
        cache_write: 0,
    };
    assert_eq!(
        deltas,
        [
            Delta::Text("Done.".into()),
            Delta::Usage(tokens),
            stop(StopReason::Length)
        ]
    );
    let (_, error) = broken(demo.stream(request(vec![user("hi")]))).await;
    assert_eq!(
        error.to_string(),
        "demo: the script has 2 turns, but the agent asked for turn 3"
    );
}

#[tokio::test]
async fn a_dropped_stream_does_not_consume_a_turn() {
    let demo = script("{\"text\": \"one\"}");
    drop(demo.stream(request(vec![])));
    whole(demo.stream(request(vec![]))).await;
}

#[tokio::test]
async fn a_script_can_simulate_failures() {
    let demo = script(concat!(
        r#"{"text": "Half", "error": "overloaded"}"#,
        "\n",
        r#"{"text": "Half a w", "cut_off": true}"#,
        "\n",
        r#"{"tool_call": {"name": "read", "args": "{not json"}}"#,
        "\n",
    ));
    let (deltas, error) = broken(demo.stream(request(vec![]))).await;
    assert_eq!(
        (deltas, &*error.to_string()),
        (vec![Delta::Text("Half".into())], "demo: overloaded")
    );
    let (_, error) = broken(demo.stream(request(vec![]))).await;
    assert_eq!(error.to_string(), "demo ended its answer early");
    let deltas = joined(whole(demo.stream(request(vec![]))).await);
    assert_eq!(
        deltas[1],
        Delta::ToolArgs {
            id: "demo_0_1".into(),
            delta: "{not json".into()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_scripted_delay_is_honoured() {
    let start = tokio::time::Instant::now();
    let demo = script(r#"[{"text": "a"}, {"delay_ms": 5000, "text": "b"}]"#);
    all(demo.stream(request(vec![]))).await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[test]
fn an_invalid_script_line_is_reported() {
    for (text, message) in [
        (
            "{}\n\n{\"txt\": 1}",
            "invalid line 3 in script: unknown field `txt`",
        ),
        (
            "{\"text\": 7}",
            "invalid line 1 in script: text must be a string",
        ),
        ("[{\"tool_call\": {\"args\": {}}}]", "missing field `name`"),
        (
            "{\"tool_call\": {\"name\": \"x\", \"args\": 1}}",
            "`args` must be an object or a string",
        ),
        ("nonsense", "expected ident at column 2"),
    ] {
        let error = Script::parse(text).expect_err("invalid script").to_string();
        assert!(error.contains(message), "{error}");
    }
    let error =
        Script::read(std::path::Path::new("/nowhere/turns.jsonl")).expect_err("missing file");
    assert!(matches!(error, ScriptError::Io { .. }), "{error}");
    assert_eq!(
        Script::parse(&format!("{}\n", json!({"text": "x"})))
            .unwrap()
            .len(),
        1
    );
}
