//! Sessions across several runs of zot.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::{demo, files};
use crate::support::{
    World,
    model::{Model, Reply},
    text,
};

fn sessions(world: &World) -> Vec<PathBuf> {
    let mut all = files(&world.path("zot/sessions"));
    all.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    all
}

/// Runs `zot … -p more` and returns the texts of all messages sent to the model, except the system
/// prompt.
fn messages_sent(world: &World, args: &[&str]) -> Vec<String> {
    let model = Model::start(vec![Reply::Text("yes".into())]);
    let flags = model.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let ran = world.zot(&[&flags, args, &["-p", "more"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let body = model.requests()[0].json();
    let messages = body["messages"].as_array().expect("should be an array")[1..].iter();
    messages.map(message_text).collect()
}

fn message_text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|it| it["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[test]
fn a_session_is_stored_and_continued() {
    let world = World::new();
    assert_eq!(demo(&world, &["-p", "one"]).code, Some(0));
    assert_eq!(demo(&world, &["-p", "two"]).code, Some(0));
    assert_eq!(sessions(&world).len(), 2);
    let sent = messages_sent(&world, &["-c"]);
    assert_eq!((sent.len(), &*sent[0], &*sent[2]), (3, "two", "more"));
    // `--continue` ignores sessions from other directories.
    fs::create_dir(world.work().join("other")).expect("failed to create directory");
    let ran = demo(&world, &["--cwd", "other", "--continue", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(sessions(&world).len(), 3);
}

#[test]
fn a_session_is_resumed_by_an_id_prefix() {
    let world = World::new();
    demo(&world, &["-p", "one"]);
    let first = sessions(&world)[0].clone();
    let head = fs::read_to_string(&first).expect("failed to read");
    let head: Value = serde_json::from_str(head.lines().next().expect("session file is empty"))
        .expect("invalid JSON");
    let id = head["id"].as_str().expect("missing `id`");
    demo(&world, &["-p", "two"]);
    let sent = messages_sent(&world, &[&format!("--resume={id}")]);
    assert_eq!(sent[0], "one");
    let ran = demo(&world, &["--resume=nosuch", "-p", "x"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("starting with `nosuch`"), "{}", ran.err);
}

#[test]
fn a_session_is_stored_in_a_given_file_or_not_at_all() {
    let world = World::new();
    let file = world.path("mine.jsonl");
    demo(&world, &["--session", text(&file), "-p", "one"]);
    let sent = messages_sent(&world, &["--session", text(&file)]);
    assert_eq!(sent[0], "one");
    assert_eq!(demo(&world, &["--no-session", "-p", "x"]).code, Some(0));
    assert!(sessions(&world).is_empty());
}

#[test]
fn a_truncated_session_is_repaired_and_reported() {
    let world = World::new();
    demo(&world, &["-p", "one"]);
    let path = sessions(&world)[0].clone();
    let mut bytes = fs::read(&path).expect("failed to read");
    bytes.truncate(bytes.len() - 9);
    fs::write(&path, bytes).expect("failed to write");
    let ran = demo(&world, &["--continue", "-p", "two"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(
        ran.err.starts_with("! ") && ran.err.contains("session"),
        "{}",
        ran.err
    );
    let ran = demo(&world, &["--continue", "-p", "three"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
}

/// Only one process can write a session file. The second reports the first one's process id.
#[test]
fn a_session_file_in_use_is_refused() {
    let world = World::new();
    let file = world.path("mine.jsonl");
    let slow = super::script(&world, &[r#"[{"text": "a"}, {"delay_ms": 600000}]"#]);
    let mut first = world
        .zot_command(&[
            "--provider",
            "demo",
            "--script",
            text(&slow),
            "--session",
            text(&file),
            "--json",
            "one",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(first.stdout.take().expect("should be piped"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("failed to read a line");
    let ran = demo(&world, &["--session", text(&file), "-p", "two"]);
    first.kill().expect("failed to kill");
    first.wait().expect("failed to wait");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.err.contains(&first.id().to_string()), "{}", ran.err);
}
