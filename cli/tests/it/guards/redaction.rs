//! Nothing that an interceptor could change reaches a user or driver before the interceptor has
//! answered.

use std::fs;

use serde_json::{Value, json};

use super::{bash, drive, extension, prompt};
use crate::support::{World, text};

/// The text to redact. Commands and scripts build it from two parts, so that they do not contain
/// it.
const SECRET: &str = "hunter2";

/// Removes the secret from each event, slowly enough for a leak to show.
const REDACTOR: &str = r#"
begin(intercept=sys.argv[2].split(","))
for frame in frames():
    if frame["type"] == "event_intercept":
        time.sleep(0.05)
        secret = "hunter" + "2"
        if frame["event"] == "tool_result":
            content = json.loads(json.dumps(frame["content"]).replace(secret, "[redacted]"))
            decide(frame, replace_content=content)
        elif frame["event"] == "assistant_message":
            decide(frame, replace_text=frame["text"].replace(secret, "[redacted]"))
        else:
            decide(frame)
    elif frame["type"] == "shutdown":
        break
"#;

/// Starts zot with a redactor for `events`, and the demo model with a script of turns.
fn redacted(world: &World, events: &str, turns: &[&str]) -> crate::rpc::driver::Rpc {
    let manifest = json!({
        "args": ["main.py", "redactor", events],
        "permissions": {"intercept": events.split(',').collect::<Vec<_>>()}
    });
    let dirs = [extension(world, "redactor", &manifest, REDACTOR)];
    let script = world.path("turns.jsonl");
    fs::write(&script, turns.join("\n")).expect("failed to write");
    let flags = ["--script", text(&script)];
    drive(world, &dirs, if turns.is_empty() { &[] } else { &flags })
}

fn assert_no_secret(lines: &[Value]) {
    let seen: Vec<&Value> = lines
        .iter()
        .filter(|line| line.to_string().contains(SECRET))
        .collect();
    assert!(seen.is_empty(), "secret leaked in {seen:#?}");
}

#[test]
fn progress_shows_only_a_line_count_until_the_result_is_redacted() {
    let world = World::new();
    let mut rpc = redacted(&world, "tool_result", &[]);
    let command = "for i in 1 2 3 4 5; do printf 'hunter%s\\n' 2; sleep 0.15; done";
    let lines = prompt(&mut rpc, &bash(command));
    assert_no_secret(&lines);
    let progress: Vec<&str> = lines
        .iter()
        .filter(|it| it["type"] == "tool_progress")
        .map(|it| it["text"].as_str().expect("should be a string"))
        .collect();
    assert!(!progress.is_empty(), "no progress was shown");
    assert!(
        progress.iter().all(|it| it.ends_with("of output so far")),
        "{progress:?}"
    );
    assert!(lines.iter().any(|it| it.to_string().contains("[redacted]")));
    rpc.end();
}

#[test]
fn summaries_and_provider_errors_are_intercepted() {
    let world = World::new();
    let turns = [
        r#"{"text": "fine"}"#,
        r#"{"text": "in summary: hunter2"}"#,
        r#"{"error": "bad key hunter2"}"#,
        r#"{"error": "bad key hunter2"}"#,
    ];
    let mut rpc = redacted(&world, "assistant_message", &turns);
    prompt(&mut rpc, "hello");
    rpc.send(&json!({"id": "c", "type": "compact"}));
    let lines = rpc.until_event("done");
    let done = lines.iter().find(|it| it["type"] == "compact_done");
    assert_eq!(
        done.expect("no compact_done event")["summary"],
        "in summary: [redacted]"
    );
    let messages = rpc.data(&json!({"id": "m", "type": "get_messages"}));
    assert_no_secret(&[messages]);
    let lines = prompt(&mut rpc, "again");
    let end = lines.iter().find(|it| it["type"] == "turn_end");
    let error = end.expect("no turn_end event")["error"]
        .as_str()
        .expect("missing `error`");
    assert!(error.contains("bad key [redacted]"), "{error}");
    rpc.send(&json!({"id": "c", "type": "compact"}));
    rpc.until_event("done");
    let ended = rpc.end();
    assert_no_secret(&ended.received);
    assert!(!ended.err.contains(SECRET), "{}", ended.err);
}

#[test]
fn thinking_and_args_are_held_back_until_interceptors_answer() {
    let world = World::new();
    let turns = [
        r#"{"thinking": "hunter2", "text": "hunter2", "tool_call": {"name": "bash", "args": {"command": "true"}}}"#,
        r#"{"text": "fine"}"#,
    ];
    let mut rpc = redacted(&world, "assistant_message,tool_call", &turns);
    let lines = prompt(&mut rpc, "go");
    assert_no_secret(&lines);
    let types: Vec<&str> = lines.iter().filter_map(|it| it["type"].as_str()).collect();
    for held in ["tool_use_args", "thinking_delta", "thinking_end"] {
        assert!(!types.contains(&held), "{types:?}");
    }
    let message = lines.iter().find(|it| it["type"] == "assistant_message");
    let message = message.expect("no message");
    let call = message["content"]
        .as_array()
        .expect("missing `content`")
        .last();
    assert_eq!(
        call.expect("no tool call")["args"],
        json!({}),
        "args are shown before interception"
    );
    let call = lines.iter().find(|it| it["type"] == "tool_call");
    assert_eq!(
        call.expect("no tool call")["args"],
        json!({"command": "true"})
    );
    rpc.end();
}
