//! The reference clients, run against the binary.

use std::{
    io::Read,
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::json;
use zot_test_support::skip::has;

use super::{driver::checked_lines, script, types};
use crate::support::{World, examples, process, wait_until};

const LANGUAGES: [&str; 5] = ["shell", "python", "node", "go", "rust"];

/// The command for a client, or `None` (and a skip message) if its language is not installed.
fn client(world: &World, language: &str) -> Option<Command> {
    let needs = match language {
        "shell" => "jq",
        "python" => "python3",
        "rust" => "true",
        other => other,
    };
    if !has(needs) {
        return None;
    }
    let folder = examples::workspace().join("examples/rpc").join(language);
    let mut command = match language {
        "shell" => world.command(folder.join("client.sh")),
        "python" => world.command(folder.join("client.py")),
        "node" => world.command(folder.join("client.mjs")),
        "rust" => world.command(examples::program("zot-example-rpc")),
        _ => {
            let program = world.path("go-client");
            let built = world
                .command("go")
                .args(["build", "-o"])
                .arg(&program)
                .arg(".")
                .current_dir(folder)
                .output()
                .expect("failed to start");
            assert!(built.status.success(), "{built:?}");
            world.command(program)
        }
    };
    command.env("ZOT", env!("CARGO_BIN_EXE_zot"));
    Some(command)
}

#[test]
fn a_client_prints_the_text_as_it_streams() {
    for language in LANGUAGES {
        let world = World::new();
        let turns = [
            json!({"text": "Let me see.\n", "tool_call": {"name": "bash", "args": {"command": "true"}}}),
            json!({"text": ["It ", "is “done” ", "\\o/."]}),
        ];
        let flags = script(&world, &turns);
        let Some(mut client) = client(&world, language) else {
            continue;
        };
        let ran = client
            .args(["say \"it\"", "--provider", "demo"])
            .args(flags)
            .output()
            .expect("failed to start");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(
            said, "Let me see.\nIt is “done” \\o/.\n",
            "{language}: {ran:?}"
        );
        assert_eq!(ran.status.code(), Some(0), "{language}: {ran:?}");
    }
}

#[test]
fn a_client_fails_when_its_command_fails() {
    for language in LANGUAGES {
        let world = World::new();
        let Some(mut client) = client(&world, language) else {
            continue;
        };
        let ran = client.args([" ", "--provider", "demo"]).output();
        let ran = ran.expect("failed to start");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{language}: {ran:?}");
        assert_eq!(
            said, "error: /message: must not be blank without images\n",
            "{language}"
        );
    }
}

#[test]
fn a_client_aborts_the_turn_on_sigint() {
    for language in LANGUAGES {
        let world = World::new();
        let session = world.path("session.jsonl");
        let flags = script(
            &world,
            &[json!([{"text": ["Well, "]}, {"delay_ms": 600_000}])],
        );
        let Some(mut client) = client(&world, language) else {
            continue;
        };
        let mut running = client
            .args(["hello", "--provider", "demo", "--session"])
            .arg(&session)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("failed to start");
        let mut stdout = running.stdout.take().expect("should be piped");
        let mut begun = [0; 6];
        stdout.read_exact(&mut begun).expect("no output");
        assert_eq!(&begun, b"Well, ", "{language}");
        process::signal(&running, Signal::INT);
        wait_until(&format!("the {language} client has ended"), || {
            running.try_wait().expect("failed to wait").is_some()
        });
        assert_eq!(
            running.wait().expect("failed to wait").code(),
            Some(0),
            "{language}"
        );
        // The client aborted the turn and did not kill zot, so the partial answer is stored.
        let kept = std::fs::read_to_string(&session).expect("failed to read session");
        assert!(kept.contains("Well, "), "{language}: {kept}");
    }
}

#[test]
fn the_quick_start_script_works() {
    let world = World::new();
    let quick = examples::workspace().join("examples/rpc/shell/quick-start.sh");
    let ran = world
        .command(quick)
        .env("ZOT", env!("CARGO_BIN_EXE_zot"))
        .args(["--provider", "demo"])
        .output()
        .expect("failed to start");
    assert!(ran.status.success(), "{ran:?}");
    let lines = checked_lines(&ran.stdout);
    let names = types(&lines);
    assert_eq!(lines[0]["data"], json!({"started": true}));
    assert!(names.contains(&"text_delta") && names.contains(&"usage"));
    assert_eq!(names.last(), Some(&"done"));
}

#[test]
fn the_embedding_example_works() {
    let world = World::new();
    let run = |words: &[&str]| {
        let mut command = world.command(examples::program("zot-example-embed"));
        command.args(words).output().expect("failed to start")
    };
    let ran = run(&["demo", "/call bash {\"command\": \"echo hi\"}"]);
    let (said, aside) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert_eq!((ran.status.code(), &*said), (Some(0), "hi\n\n"), "{aside}");
    assert!(aside.contains("> bash"), "{aside}");
    let ran = run(&["openai", "hello"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("no API key for openai"),
        "{ran:?}"
    );
}
