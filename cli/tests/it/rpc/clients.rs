//! The reference clients, run against the binary.

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use zot_test_support::skip::has;

use super::{driver::checked_lines, script, types};
use crate::support::{
    World, examples,
    model::{Model, Reply},
    process, wait_until,
};

const LANGUAGES: [&str; 5] = ["shell", "python", "node", "go", "rust"];

/// Returns the command for a client. If its language is not installed, returns `None` and reports
/// the test as skipped.
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

/// Returns a client from the fixtures, which works the way third-party clients do.
fn fixture_client(world: &World, file: &str) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/clients")
        .join(file);
    let mut command = world.command(path);
    command.env("ZOT", env!("CARGO_BIN_EXE_zot"));
    command
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
            said, "error: /message: must not be blank if there are no images\n",
            "{language}"
        );
    }
}

/// A client that waits for `error`, like the clients of the Go program, needs no other event to
/// notice a failure.
#[test]
fn a_client_reports_a_failed_model_call() {
    let failures = [
        (
            Reply::Status(401, "bad key"),
            "",
            "openai rejected the API key: bad key",
        ),
        (
            Reply::Cut("Well, "),
            "Well, ",
            "openai ended its answer early",
        ),
    ];
    for (failure, text, why) in failures {
        let clients = LANGUAGES.iter().map(|language| (*language, None));
        let simple = ("simple.py", Some("simple.py"));
        for (name, fixture) in clients.chain([simple]) {
            let world = World::new();
            world.configure(&json!({"retry_seconds": 0}));
            let model = Model::start(vec![failure.clone()]);
            let client = match fixture {
                Some(file) => Some(fixture_client(&world, file)),
                None => client(&world, name),
            };
            let Some(mut client) = client else {
                continue;
            };
            let ran = client
                .arg("hello")
                .args(model.flags())
                .args(["--api-key", "a-key"])
                .output()
                .expect("failed to start");
            let (said, told) = (
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr),
            );
            assert_eq!(said.trim_end_matches('\n'), text, "{name}: {ran:?}");
            assert_eq!(told.matches(why).count(), 1, "{name}: {told}");
            assert_eq!(ran.status.code(), Some(1), "{name}: {ran:?}");
        }
    }
}

/// Runs `session.mjs` with these turns and operations, and returns what each operation received.
fn session(turns: &[Value], operations: &Value) -> Option<Vec<Value>> {
    if !has("node") {
        return None;
    }
    let world = World::new();
    let ran = fixture_client(&world, "session.mjs")
        .arg(operations.to_string())
        .args(["--provider", "demo"])
        .args(script(&world, turns))
        .output()
        .expect("failed to start");
    assert!(ran.status.success(), "{ran:?}");
    let lines = ran
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    Some(
        lines
            .map(|line| serde_json::from_slice(line).expect("invalid JSON"))
            .collect(),
    )
}

/// Each operation must get exactly its own events, or the next one starts with leftovers.
#[test]
fn a_session_client_gets_each_operation_up_to_done() {
    let prompt = |text: &str| json!({"type": "prompt", "message": text});
    let turns = [
        json!({"text": "one"}),
        json!({"text": "in short"}),
        json!({"text": "two"}),
        json!({"error": "overloaded"}),
        json!({"text": "three"}),
    ];
    let operations = json!([
        [prompt("a")],
        [{"type": "compact"}],
        [prompt("b")],
        [{"type": "compact"}],
        [prompt("c")],
    ]);
    let Some(results) = session(&turns, &operations) else {
        return;
    };
    let answer = json!([
        "user_message",
        "turn_start",
        "assistant_start",
        "text_delta",
        "usage",
        "assistant_message",
        "turn_end",
        "done",
    ]);
    for (at, text) in [(0, "one"), (2, "two"), (4, "three")] {
        assert_eq!(results[at]["types"], answer, "{}", results[at]);
        assert_eq!(results[at]["text"], text);
    }
    assert_eq!(results[1]["types"], json!(["compact_done", "done"]));
    assert_eq!(results[1]["summary"], "in short");
    assert_eq!(results[3]["types"], json!(["error", "done"]));
    let why = results[3]["error"].as_str().expect("should be a string");
    assert!(why.contains("overloaded"), "{why}");
}

#[test]
fn a_session_client_can_abort_at_any_stage() {
    let prompt = json!({"type": "prompt", "message": "go"});
    let turns = [
        json!([{"text": "Well, "}, {"delay_ms": 600_000}]),
        json!({"tool_call": {"name": "bash", "args": {"command": "echo on; sleep 600"}}}),
        json!([{"text": "sum"}, {"delay_ms": 600_000}]),
        json!({"text": "fine"}),
    ];
    let operations = json!([
        [prompt, "text_delta"],
        [prompt, "tool_progress"],
        [prompt, "turn_start"],
        [prompt],
    ]);
    let Some(results) = session(&turns, &operations) else {
        return;
    };
    for result in &results[..3] {
        assert_eq!(result["stop"], "aborted", "{result}");
    }
    let end = |result: &Value, events: usize| {
        let types = result["types"].as_array().expect("should be an array");
        types[types.len() - events..].to_vec()
    };
    assert_eq!(
        end(&results[0], 3),
        ["assistant_message", "turn_end", "done"]
    );
    assert_eq!(end(&results[1], 3), ["tool_result", "turn_end", "done"]);
    assert_eq!(results[3]["text"], "fine");
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
