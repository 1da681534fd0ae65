//! `zot --json`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;
use zot_protocol::{rpc, validate};

use super::{demo, marking_extension};
use crate::support::{World, process, text, wait_until};

/// Parses the events and validates each against its published schema.
pub(super) fn events(out: &str) -> Vec<Value> {
    out.lines().map(event).collect()
}

pub(super) fn event(line: &str) -> Value {
    let read = validate::frame::<rpc::Event>(line.as_bytes());
    let known = read.unwrap_or_else(|why| panic!("{why}: {line}"));
    assert!(!matches!(known, rpc::Event::Unknown(_)), "{line}");
    serde_json::from_str(line).expect("invalid JSON")
}

fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = events
        .iter()
        .map(|it| it["type"].as_str().expect("missing `type`"))
        .collect();
    types.dedup();
    types
}

#[test]
fn terminal_control_characters_are_escaped_in_json() {
    let world = World::new();
    let evil = "\u{9b}2J\u{7f}\u{202e}\u{2066}\u{2028}\u{e0041} ü 👩";
    fs::write(world.work().join("evil.txt"), evil).expect("failed to write");
    // One event is smaller and one is larger than the size above which lines are queued separately.
    fs::write(
        world.work().join("large.txt"),
        format!("{evil}\n").repeat(20_000),
    )
    .expect("failed to write");
    for file in ["evil.txt", "large.txt"] {
        let call = format!("{evil}\n/call bash {{\"command\":\"cat {file}\"}}");
        let ran = demo(&world, &["--json", &call]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let told = events(&ran.out);
        let result = told.iter().find(|it| it["type"] == "tool_result");
        let text = result.expect("no result")["content"][0]["text"].as_str();
        assert!(
            text.expect("should be a string").contains(evil),
            "escaping changed the text"
        );
        let raw = |char: char| {
            let is_bidi = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            is_bidi
                || (char.is_control() && char != '\n')
                || matches!(char, '\u{2028}' | '\u{e0041}')
        };
        assert_eq!(ran.out.chars().find(|char| raw(*char)), None);
        assert!(
            ran.out.contains("ü 👩"),
            "printable characters must not be escaped"
        );
    }
}

#[test]
fn json_prints_events_in_the_documented_order() {
    let world = World::new();
    let ran = demo(&world, &["--json", "/call bash {\"command\": \"echo hi\"}"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let events = events(&ran.out);
    assert_eq!(
        types(&events),
        [
            "session",
            "user_message",
            "turn_start",
            "assistant_start",
            "tool_use_start",
            "tool_use_args",
            "tool_use_end",
            "usage",
            "assistant_message",
            "tool_call",
            "turn_end",
            "tool_progress",
            "tool_result",
            "turn_start",
            "assistant_start",
            "text_delta",
            "usage",
            "assistant_message",
            "turn_end",
            "done",
        ]
    );
    let stops: Vec<&Value> = events
        .iter()
        .filter(|it| it["type"] == "turn_end")
        .map(|it| &it["stop"])
        .collect();
    assert_eq!(stops, ["tool_use", "end_turn"]);
}

#[test]
fn a_failed_run_reports_one_error_and_exits_1() {
    let world = World::new();
    let ran = super::scripted(&world, &[r#"{"error": "overloaded"}"#], &["--json", "hi"]);
    assert_eq!(ran.code, Some(1));
    let events = events(&ran.out);
    let told: Vec<&Value> = events
        .iter()
        .filter(|it| it.get("error").is_some())
        .collect();
    assert_eq!(told.len(), 1, "{events:#?}");
    assert_eq!(told[0]["stop"], "error");
    assert_eq!(events.last().expect("no such event")["type"], "done");
}

#[test]
fn extension_notifications_are_events() {
    let world = World::new();
    let kit = world.path("kit");
    std::fs::create_dir(&kit).expect("failed to create directory");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kit.sh");
    let manifest = serde_json::json!({"name": "kit", "exec": "bash", "args": [script]});
    std::fs::write(kit.join("extension.json"), manifest.to_string()).expect("failed to write");
    let ran = demo(&world, &["--json", "-e", text(&kit), "/call steps {}"]);
    let events = events(&ran.out);
    let note = events.iter().find(|it| it["type"] == "ext_notify");
    let note = note.unwrap_or_else(|| panic!("no note: {ran:#?}"));
    assert_eq!(
        (&note["extension"], &note["level"], &note["message"]),
        (&"kit".into(), &"info".into(), &"a session began".into())
    );
    let progress = events.iter().find(|it| it["type"] == "tool_progress");
    assert!(progress.is_some_and(|it| it["text"] == "half\u{1b}[2J way"));
    assert_eq!(ran.code, Some(0));
}

/// The redacted text appears in no event, and no text appears before the redactor answers.
#[test]
fn redacted_text_is_in_no_event() {
    let world = World::new();
    let chain =
        ["1", "2", "3"].map(|name| marking_extension(&world, name, "assistant_message", "mark"));
    let chain: Vec<&str> = chain.iter().flat_map(|dir| ["-e", text(dir)]).collect();
    let turns = [r#"{"text": ["the password is hun", "ter2, ", "really"]}"#];
    let ran = super::scripted(&world, &turns, &[&["--json"], &*chain, &["tell"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!ran.out.contains("hun"), "{}", ran.out);
    let deltas: String = events(&ran.out)
        .iter()
        .filter(|it| it["type"] == "text_delta")
        .map(|it| it["delta"].as_str().expect("should be a string").to_owned())
        .collect();
    assert_eq!(deltas, "the password is , really123");
}

#[test]
fn a_closed_pipe_ends_zot_and_leaves_no_process() {
    let world = World::new();
    let endless = "/call bash {\"command\": \"while echo x; do sleep 0.01; done\"}";
    let mut child = world
        .zot_command(&["--provider", "demo", "--json", endless])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("failed to start zot");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("should be piped"))
        .read_line(&mut line)
        .expect("failed to read a line");
    assert!(line.contains("session"), "{line}");
    // The pipe is closed now, and zot notices when it writes the command's next line.
    assert_eq!(child.wait().expect("failed to wait").code(), Some(141));
    wait_until("no process is left", || {
        process::working_in(&world.work()).is_empty()
    });
}
