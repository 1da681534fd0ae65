//! Exactly one reply per request, whatever the handler does.

use serde_json::{Value, json};

use crate::driver::{Driven, ack, text};

#[test]
fn a_tool_that_panics_or_fails_returns_an_error() {
    let mut probe = Driven::probe();
    for (tool, words) in [
        ("panic", "`panic` panicked: 2 of 3"),
        (
            "panic_later",
            "`panic_later` panicked: NO_SUCH_VARIABLE is not set",
        ),
        ("fail", "No such file or directory"),
        ("huge", "failed to send the answer: frame too large: 5242"),
        ("unknown_tool", "unknown tool `unknown_tool`"),
    ] {
        let result = probe.result(tool);
        assert_eq!(result["is_error"], true, "{result}");
        assert!(text(&result).contains(words), "{result}");
    }
    let ended = probe.shutdown();
    ended.assert_clean(&[ack()]);
    assert!(ended.stderr.contains("2 of 3"), "{}", ended.stderr);
}

#[test]
fn invalid_arguments_return_an_error() {
    let mut probe = Driven::probe();
    probe.call("1", "echo", &json!({"text": "hi", "ms": "soon"}));
    assert_eq!(
        text(&probe.reply("tool_result", "1")),
        "invalid arguments: `ms`: invalid type: string \"soon\", expected u64"
    );
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn a_command_that_panics_or_fails_returns_an_error() {
    let mut probe = Driven::probe();
    assert_eq!(
        probe.command("panic")["error"],
        "`/panic` panicked: command panic"
    );
    assert_eq!(probe.command("fail")["error"], "command failed");
    assert_eq!(probe.command("nope")["error"], "unknown command `nope`");
    assert_eq!(probe.command("print")["action"], "noop");
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn a_guard_that_panics_or_fails_blocks() {
    let mut probe = Driven::probe();
    let verdict = |answer: Value| (answer["block"] == true, answer["reason"].clone());
    let panicked = "the interceptor for `tool_call` panicked: guard panic";
    assert_eq!(verdict(probe.ask("panic")), (true, panicked.into()));
    assert_eq!(verdict(probe.ask("fail")), (true, "guard failed".into()));
    assert_eq!(verdict(probe.ask("bash")), (true, "no shells".into()));
    assert_eq!(verdict(probe.ask("read")), (false, Value::Null));
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn an_invalid_request_is_answered_with_an_error() {
    let mut probe = Driven::probe();
    probe.send_line("not JSON");
    probe.send_line("");
    probe.send_line(r#"{"type":"news","from":"the future"}"#);
    probe.send_line(r#"{"type":"tool_call","id":"1","name":"echo","args":[]}"#);
    probe.send_line(r#"{"type":"event_intercept","id":"2","event":"tool_call","tool_args":[]}"#);
    probe.send_line(r#"{"type":"command_invoked","id":"3","name":7}"#);
    // This event is not intercepted.
    probe.send_line(r#"{"type":"event_intercept","id":"4","event":"user_message","text":"hi"}"#);
    assert_eq!(probe.reply("tool_result", "1")["is_error"], true);
    assert_eq!(probe.reply("event_intercept_response", "2")["block"], true);
    assert!(probe.reply("command_response", "3")["error"].is_string());
    assert_eq!(
        probe.reply("event_intercept_response", "4"),
        json!({"type": "event_intercept_response", "id": "4"})
    );
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn a_failing_event_handler_does_not_affect_others() {
    let mut probe = Driven::probe();
    for step in [1, 13, 2] {
        probe.send(&json!({"type": "event", "event": "turn_start", "step": step}));
    }
    probe.send(&json!({"type": "event", "event": "turn_end", "stop": "end_turn"}));
    assert_eq!(
        probe.wait_for(|it| it["type"] == "notify")["message"],
        "end_turn"
    );
    let ended = probe.shutdown();
    ended.assert_clean(&[ack()]);
    assert!(
        ended.stderr.contains("turn_start: a handler's error"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("unexpected step"), "{}", ended.stderr);
}
