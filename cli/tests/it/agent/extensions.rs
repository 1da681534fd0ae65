//! Extensions in non-interactive runs: each kind of interception, with a chain of three extensions.

use std::fs;

use serde_json::Value;
use zot_conform::transcript;

use super::{demo, json, marking_extension, scripted};
use crate::support::{World, text};

/// Writes three marking extensions, the second with this mode. Returns the flags that load them.
fn chain(world: &World, events: &str, second: &str) -> Vec<String> {
    let dirs = [("1", "mark"), ("2", second), ("3", "mark")]
        .map(|(name, mode)| marking_extension(world, name, events, mode));
    dirs.iter()
        .flat_map(|dir| ["-e".to_owned(), text(dir).to_owned()])
        .collect()
}

fn with<'a>(chain: &'a [String], args: &[&'a str]) -> Vec<&'a str> {
    chain
        .iter()
        .map(String::as_str)
        .chain(args.iter().copied())
        .collect()
}

#[test]
fn rewritten_args_reach_only_the_tool() {
    let world = World::new();
    let chain = chain(&world, "tool_call", "mark");
    let ran = demo(
        &world,
        &with(&chain, &["--json", "/call say-1 {\"text\": \"x\"}"]),
    );
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let events = json::events(&ran.out);
    let of = |name: &str| {
        events
            .iter()
            .find(|it| it["type"] == name)
            .expect("no such event")
    };
    assert_eq!(of("tool_call")["args"]["text"], "x");
    assert_eq!(
        of("tool_result")["content"][0]["text"],
        r#"{"text": "x123"}"#
    );
    assert_eq!(of("tool_result")["extension"], "1");
}

#[test]
fn a_guard_blocks_a_call_and_the_model_gets_the_reason() {
    let world = World::new();
    let chain = chain(&world, "tool_call", "block");
    let ran = demo(
        &world,
        &with(&chain, &["-p", "/call bash {\"command\": \"touch ran\"}"]),
    );
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("2 refuses"), "{}", ran.out);
    assert!(!world.work().join("ran").exists());
}

#[test]
fn a_blocked_turn_prints_the_reason() {
    let world = World::new();
    let chain = chain(&world, "turn_start", "block");
    let ran = demo(&world, &with(&chain, &["-p", "hello"]));
    assert_eq!(
        (ran.code, &*ran.out, &*ran.err),
        (Some(1), "", "error: 2 refuses\n")
    );
}

#[test]
fn a_user_message_is_rewritten_or_blocked() {
    let world = World::new();
    let marks = chain(&world, "user_message", "mark");
    let ran = demo(
        &world,
        &with(&marks, &["--json", "/call say-1 {}\nhunter2"]),
    );
    let user = &json::events(&ran.out)[1];
    assert_eq!(user["content"][0]["text"], "/call say-1 {}\n123");
    let blocks = chain(&world, "user_message", "block");
    let ran = demo(&world, &with(&blocks, &["-p", "hello"]));
    assert_eq!(
        (ran.code, &*ran.out, &*ran.err),
        (Some(1), "", "error: 2 refuses\n")
    );
}

#[test]
fn a_tool_result_is_replaced() {
    let world = World::new();
    let chain = chain(&world, "tool_result", "mark");
    let ran = demo(
        &world,
        &with(&chain, &["-p", "/call bash {\"command\": \"echo it\"}"]),
    );
    assert!(ran.out.contains("it\n123"), "{ran:#?}");
}

#[test]
fn a_blocked_message_is_hidden_but_its_tools_run() {
    let world = World::new();
    let chain = chain(&world, "assistant_message", "block");
    let turns = [
        r#"{"text": "secret", "tool_call": {"name": "bash", "args": {"command": "touch ran"}}}"#,
        r#"{"text": "secret again"}"#,
    ];
    let ran = scripted(&world, &turns, &with(&chain, &["-p", "go"]));
    assert_eq!((ran.code, &*ran.out), (Some(0), "2 refuses\n"), "{ran:#?}");
    assert!(world.work().join("ran").exists());
}

#[test]
fn a_crashed_guard_with_on_failure_block_blocks_calls() {
    let world = World::new();
    let dir = marking_extension(&world, "guard", "tool_call", "crash");
    let manifest = fs::read_to_string(dir.join("extension.json")).expect("failed to read");
    let mut manifest: Value = serde_json::from_str(&manifest).expect("invalid JSON");
    manifest["intercept"] = serde_json::json!({"tool_call": {"on_failure": "block"}});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let touch = "/call bash {\"command\": \"touch ran\"}";
    let ran = demo(
        &world,
        &["-e", text(&dir), "-p", &format!("{touch}\n{touch}")],
    );
    assert!(!world.work().join("ran").exists(), "{ran:#?}");
    assert!(ran.out.contains("guard"), "{ran:#?}");
    assert!(
        ran.err.contains("[guard] "),
        "the crash was not reported: {}",
        ran.err
    );
}

#[test]
fn project_extensions_need_trust() {
    let world = World::new();
    let dir = world.work().join(".zot/extensions/local");
    fs::create_dir_all(dir.parent().expect("path has no parent"))
        .expect("failed to create directory");
    fs::rename(marking_extension(&world, "local", "", "mark"), &dir).expect("failed to rename");
    // A project extension can only run files in its own directory.
    let manifest = fs::read_to_string(dir.join("extension.json")).expect("failed to read");
    let mut manifest: Value = serde_json::from_str(&manifest).expect("invalid JSON");
    let script = manifest["args"][0]
        .as_str()
        .expect("missing path")
        .to_owned();
    fs::copy(script, dir.join("mark.py")).expect("failed to copy");
    manifest["args"][0] = "mark.py".into();
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let call = "/call say-local {\"text\": \"x\"}";
    let ran = demo(&world, &["-p", call]);
    assert!(ran.out.contains("there is no tool `say-local`"), "{ran:#?}");
    assert!(
        ran.err.contains("local") && ran.err.contains("--trust-project"),
        "{}",
        ran.err
    );
    let ran = demo(&world, &["--trust-project", "-p", call]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    assert!(ran.out.contains(r#"{"text": "x"}"#), "{ran:#?}");
    let ran = demo(&world, &["--trust-project", "--no-ext", "-p", call]);
    assert!(ran.out.contains("there is no tool"), "{ran:#?}");
}

#[test]
fn record_writes_a_transcript() {
    let world = World::new();
    let dir = marking_extension(&world, "a", "tool_call", "mark");
    let record = world.path("a.zt.ndjson");
    let args = [
        "-e",
        text(&dir),
        "--record",
        text(&record),
        "-p",
        "/call say-a {\"text\": \"x\"}",
    ];
    let ran = demo(&world, &args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.err.contains("recorded `"), "{}", ran.err);
    let written = fs::read_to_string(&record).expect("failed to read transcript");
    transcript::parse(&written).expect("invalid transcript");
    for part in ["event_intercept_response", "\"tool_call\"", "say-a"] {
        assert!(written.contains(part), "{part}: {written}");
    }
    // An existing file is not overwritten.
    let again = demo(&world, &args);
    assert_eq!(again.code, Some(2));
    assert!(
        again.err.contains("already exists\nhint: "),
        "{}",
        again.err
    );
}

#[test]
fn a_broken_extension_is_reported_and_does_not_block_others() {
    let world = World::new();
    let dir = world.path("broken");
    fs::create_dir(&dir).expect("failed to create directory");
    fs::write(
        dir.join("extension.json"),
        r#"{"name": "broken", "exec": "./none"}"#,
    )
    .expect("failed to write");
    let ran = demo(&world, &["-e", text(&dir), "-p", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("demo model"));
    assert!(
        ran.err.contains("broken") && ran.err.contains("none"),
        "{}",
        ran.err
    );
    let ran = demo(
        &world,
        &["-e", text(&dir), "--log-level", "off", "-p", "hello"],
    );
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
}
