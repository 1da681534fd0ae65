//! Recording frames as a transcript.

use std::time::Duration;

use serde_json::{Value, json};
use zot_conform::{
    Party::{Extension, Host},
    transcript::{Place, Places, Recorder, parse},
};

use super::{SentFrame, replay_frames};

fn record(mut recorder: Recorder, frames: &[SentFrame]) -> String {
    for (who, frame) in frames {
        recorder.frame(*who, frame, Duration::ZERO);
    }
    let text = recorder.finish().to_text();
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    text
}

fn hello_ack() -> Value {
    json!({
        "type": "hello_ack", "protocol_version": 1, "cwd": "/home/ann/work",
        "extension_dir": "/home/ann/ext", "data_dir": "/home/ann/data",
    })
}

fn handshake() -> Vec<SentFrame> {
    vec![
        (Extension, json!({"type": "hello", "name": "x"})),
        (Host, hello_ack()),
        (
            Extension,
            json!({"type": "register_tool", "name": "t", "schema": {}}),
        ),
        (Extension, json!({"type": "ready"})),
    ]
}

#[test]
fn ids_of_both_sides_get_names() {
    let mut frames = handshake();
    frames.extend([
        (Host, json!({"type": "tool_call", "id": "77", "name": "t", "args": {}})),
        (Extension, json!({"type": "call_tool", "id": "77", "name": "read", "args": {}, "parent_id": "77"})),
        (Host, json!({"type": "tool_result", "id": "77", "name": "read", "content": [], "is_error": false})),
        (Extension, json!({"type": "tool_progress", "id": "77", "text": "…"})),
        (Host, json!({"type": "tool_cancel", "id": "77"})),
        (Extension, json!({"type": "tool_result", "id": "77", "content": []})),
        (Host, json!({"type": "command_invoked", "id": "78", "name": "c"})),
        (Extension, json!({"type": "command_response", "id": "78", "action": "open_panel", "open_panel": {"id": "p"}})),
        (Host, json!({"type": "panel_key", "panel_id": "p", "key": "up"})),
        (Extension, json!({"type": "panel_render", "panel_id": "p", "lines": []})),
        (Extension, json!({"type": "tool_result", "id": "invented", "content": []})),
        (Host, json!({"type": "event_intercept", "id": "79", "event": "tool_call"})),
        (Host, json!({"type": "event_intercept", "id": "80", "event": "tool_call"})),
    ]);
    insta::assert_snapshot!(record(Recorder::new("ids"), &frames));
}

#[test]
fn paths_and_times_are_removed() {
    let places = Places::default()
        .with(Place::Home, "/home/ann")
        .with(Place::Tmp, "/tmp");
    let mut frames = handshake();
    frames.extend([
        (Host, json!({"type": "tool_call", "id": "1789516946000", "name": "t", "args": {
            "path": "/home/ann/work/src", "command": "echo $HOME && rm /tmp/x /home/anna/y", "at": "11:42:26", "n": 1_789_516_946,
        }})),
        (Extension, json!({"type": "tool_result", "id": "1789516946000", "content": [{"type": "text", "text":
            "call 1789516946000: /home/ann/work/src and /home/ann/.cache, not /home/anna or ./tmp.\nlocal: Sun, Nov 15, 2026, 11:42:26\u{202f}PM\niso: 2026-11-15T23:42:26.965Z, 2026-11-15 23:42 and 1789516946.5, in 1m13s; 16:9 at src/x.rs:11:42"
        }], "structured_content": {"at": 1_789_516_946_123_u64, "n": 5, "/home/ann/work/x": 1}})),
    ]);
    insta::assert_snapshot!(record(Recorder::new("paths").places(places), &frames));
}

#[test]
fn secrets_are_removed_in_both_directions() {
    let recorder = Recorder::new("secrets")
        .secret("sk-1234")
        .secret("sk-1234-long")
        .secret("two\nlines")
        .secret("e");
    let frames = [
        (
            Host,
            json!({"type": "event", "event": "user_message", "text": "my key is sk-1234-long.", "sk-1234": 1}),
        ),
        (
            Extension,
            json!({"type": "submit", "text": "key: sk-1234, and two\nlines"}),
        ),
        (
            Extension,
            json!({"type": "notify", "level": "info", "message": "sk-1234-long", "sk-1234": 1}),
        ),
    ];
    let text = record(recorder, &frames);
    assert!(!text.contains("1234") && !text.contains("two"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn literal_matchers_are_escaped() {
    let frames = [
        (
            Host,
            json!({"type": "event", "event": "x", "text": "[..]", "$new": {"$$a": 1}}),
        ),
        (
            Extension,
            json!({"type": "notify", "message": "a[..]b", "$ref": "#/x", "$exact": true, "as": 1}),
        ),
    ];
    let text = record(Recorder::new("escapes"), &frames);
    replay_frames(&parse(&text).unwrap(), &frames, Places::default()).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn a_handshake_is_collapsed_if_nothing_is_lost() {
    let notify = (
        Extension,
        json!({"type": "notify", "level": "info", "message": "hi"}),
    );
    let event = (Host, json!({"type": "event", "event": "session_start"}));
    let verbs = |frames: &[SentFrame]| -> Vec<String> {
        let text = record(Recorder::new("h"), frames);
        let lines = text.lines().skip(1);
        let firsts = lines.map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let (verb, value) = line.as_object().unwrap().iter().next().unwrap();
            let kind = value.as_str().or(value["type"].as_str()).unwrap();
            format!("{verb} {kind}")
        });
        firsts.collect()
    };
    let mut frames = handshake();
    frames.push(event.clone());
    assert_eq!(verbs(&frames), ["use handshake", "send event"]);

    let mut late_ack = frames.clone();
    let ack = late_ack.remove(1);
    late_ack.insert(3, ack.clone());
    assert_eq!(verbs(&late_ack), ["use handshake", "send event"]);

    let mut registers_late = late_ack.clone();
    let tool = registers_late.remove(1);
    registers_late.insert(2, tool);
    assert_eq!(
        verbs(&registers_late),
        ["use handshake", "expect register_tool", "send event"]
    );

    let mut without_ready = frames.clone();
    without_ready.remove(3);
    assert_eq!(verbs(&without_ready), ["use handshake", "send event"]);

    let mut talks_before_ready = frames.clone();
    talks_before_ready.insert(3, notify);
    assert_eq!(verbs(&talks_before_ready).len(), 6);

    assert_eq!(verbs(&frames[2..]).len(), 3, "no hello");
}

#[test]
fn a_slow_reply_gets_a_longer_deadline() {
    let mut recorder = Recorder::new("slow").about("a slow tool");
    let frame = json!({"type": "notify", "level": "info", "message": "done"});
    recorder.frame(Host, &json!({"type": "shutdown"}), Duration::from_secs(60));
    recorder.frame(Extension, &frame, Duration::from_millis(60_900));
    recorder.frame(Extension, &frame, Duration::from_millis(70_400));
    insta::assert_snapshot!(recorder.finish().to_text());
}
