//! Authentication of drivers with a token.

use std::{fs, process::Command};

use serde_json::json;

use super::{driver::Rpc, extensions};
use crate::support::{World, wait_until};

const TOKEN: &str = "canary-5f1c9a7e";

fn with_token(world: &World, args: &[&str]) -> Command {
    let mut command = world.zot_command(&[&["rpc", "--provider", "demo"], args].concat());
    command.env("ZOTCORE_RPC_TOKEN", TOKEN);
    command
}

#[test]
fn the_right_token_is_accepted() {
    let world = World::new();
    let mut zot = Rpc::spawn(&mut with_token(&world, &[]));
    zot.data(&json!({"id": "0", "type": "hello", "token": TOKEN}));
    zot.data(&json!({"id": "1", "type": "prompt", "message": "hello"}));
    zot.until_event("done");
    let ended = zot.end();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
}

#[test]
fn anything_but_the_right_token_is_refused_and_ends_zot() {
    let huge = "x".repeat(17 * 1024 * 1024);
    for (lines, command, id) in [
        (
            json!({"id": "0", "type": "hello", "token": "wrong"}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello"}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": ""}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": TOKEN[1..]}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": TOKEN[..TOKEN.len() - 1]}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": format!("{TOKEN}x")}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": [TOKEN]}).to_string(),
            "hello",
            Some("0"),
        ),
        (
            json!({"id": "0", "type": "hello", "token": huge}).to_string(),
            "",
            None,
        ),
        // A valid `hello` that is not the first command.
        (
            format!(
                "{}\n{}",
                json!({"id": "1", "type": "ping"}),
                json!({"id": "0", "type": "hello", "token": TOKEN})
            ),
            "ping",
            Some("1"),
        ),
        (
            json!({"id": "1", "type": "prompt", "message": "hello"}).to_string(),
            "prompt",
            Some("1"),
        ),
        (
            json!({"id": "1", "type": "what", "token": TOKEN}).to_string(),
            "what",
            Some("1"),
        ),
        ("nonsense".to_owned(), "", None),
    ] {
        let world = World::new();
        extensions::install(&world, "kit");
        let shown: String = lines.chars().take(80).collect();
        let mut zot = Rpc::spawn(&mut with_token(&world, &[]));
        zot.raw(format!("{lines}\n").as_bytes());
        // stdin stays open, so zot must exit by itself.
        let ended = zot.ended();
        assert_eq!(ended.code, Some(1), "{shown}");
        let [response] = &ended.received[..] else {
            panic!("{shown}: {:?}", ended.received);
        };
        assert_eq!(response["success"], false);
        assert_eq!(
            (&response["command"], response["id"].as_str()),
            (&json!(command), id),
            "{shown}"
        );
        let error = response["error"].as_str().expect("should be a string");
        assert!(error.starts_with("not authenticated: "), "{error}");
        assert!(
            !format!("{response}{}", ended.err).contains(TOKEN),
            "{response}"
        );
        // No extension was started for an unauthenticated driver.
        assert!(!world.path("zot/logs").exists());
    }
}

#[test]
fn without_a_token_no_authentication_is_needed() {
    let world = World::new();
    let mut command = world.zot_command(&["rpc", "--provider", "demo", "--no-ext"]);
    let mut zot = Rpc::spawn(command.env("ZOTCORE_RPC_TOKEN", ""));
    zot.data(&json!({"id": "1", "type": "ping"}));
    zot.data(&json!({"id": "0", "type": "hello", "token": "whatever"}));
    assert_eq!(zot.end().code, Some(0));
    // A driver that sends no command at all receives no response.
    let ended = Rpc::spawn(&mut with_token(&world, &[])).end();
    assert_eq!((ended.code, ended.received.len()), (Some(0), 0));
}

#[test]
fn the_token_is_in_no_output_no_file_and_no_child() {
    let world = World::new();
    extensions::install(&world, "kit");
    // Let the extension record its own environment.
    let path = world.installed("kit").join("kit.sh");
    let script = fs::read_to_string(&path).expect("failed to read");
    let seen = world.path("seen");
    fs::write(&path, format!("env > '{}'\n{script}", seen.display())).expect("failed to write");
    let record = world.path("record.zt.ndjson");
    let session = world.path("session.jsonl");
    let mut command = with_token(&world, &["--log-level", "debug"]);
    command
        .arg("--record")
        .arg(&record)
        .arg("--session")
        .arg(&session);
    let mut zot = Rpc::spawn(&mut command);
    zot.data(&json!({"id": "0", "type": "hello", "token": TOKEN}));
    let pid = zot.pid();
    let look = format!("env; cat /proc/{pid}/environ /proc/{pid}/cmdline | tr '\\0' '\\n'");
    for command in [look.as_str(), "cat /proc/$PPID/environ | tr '\\0' '\\n'"] {
        let call = json!({"command": command});
        zot.send(&json!({"id": "p", "type": "prompt", "message": format!("/call bash {call}")}));
        let lines = zot.until_event("done");
        let result = lines
            .iter()
            .find(|line| line["type"] == "tool_result")
            .expect("no such event");
        assert!(result.to_string().contains("PATH="), "{result}");
    }
    wait_until("the extension has recorded its environment", || {
        seen.is_file()
    });
    zot.send(&json!({"id": "h", "type": "hello", "token": [TOKEN]}));
    zot.response("h");
    zot.send(&json!({"id": "m", "type": "get_messages"}));
    let ended = zot.end();
    assert_eq!(ended.code, Some(0));
    let said: String = ended.received.iter().map(ToString::to_string).collect();
    assert!(!said.contains(TOKEN));
    assert!(!ended.err.contains(TOKEN));
    assert!(record.is_file() && session.is_file());
    for (path, what) in crate::support::snapshot::of(world.root()) {
        assert!(!what.contains(TOKEN), "{}", path.display());
    }
}
