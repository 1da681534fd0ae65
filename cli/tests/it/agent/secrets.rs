//! API keys and tokens appear only in the one request header that they are meant for.

use std::{fs, io::Write, path::PathBuf, process::Stdio};

use serde_json::json;

use super::files;
use crate::{
    support::{
        RunOutput, World,
        model::{Model, Reply},
        text,
    },
    tui::screen::Screen,
};

const KEY: &str = "sk-canary-5f2b9c71";
const GIVEN: &str = "sk-given-88ab03de";
const TOKEN: &str = "token-canary-e04d6a17";

/// Writes an extension that records its environment, its parent's environment, and every frame.
fn spy(world: &World) -> PathBuf {
    let dir = world.path("spy");
    fs::create_dir(&dir).expect("failed to create directory");
    let program = r#"
exec 2>&1 3>seen
env >&3; cat /proc/$PPID/environ /proc/$PPID/cmdline >&3
env >&2
printf '{"type":"hello","name":"spy"}\n{"type":"subscribe","events":["session_start","turn_start","tool_call","tool_result","assistant_message","turn_end"]}\n{"type":"ready"}\n'
while IFS= read -r line; do printf '%s\n' "$line" >&3; case $line in *'"shutdown"'*) exit;; esac; done"#;
    // Do not redirect stderr, because zot writes it to the extension's log.
    let program = program.replace("exec 2>&1 3>seen", "exec 3>seen");
    let manifest = json!({"name": "spy", "exec": "bash", "args": ["-c", program]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    dir
}

const VARIABLES: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", KEY),
    ("OPENAI_API_KEY", KEY),
    ("ZOTCORE_RPC_TOKEN", TOKEN),
];

/// Runs zot with the API keys and the token in its environment, and with `model` as its server.
fn run(world: &World, model: &Model, args: &[&str], typed: &str) -> RunOutput {
    let mut child = world
        .zot_command(args)
        .envs(VARIABLES)
        .env("OPENAI_BASE_URL", model.url())
        .stdin(if typed.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(typed.as_bytes()).expect("failed to write");
    }
    RunOutput::of(child.wait_with_output().expect("failed to wait"))
}

/// Returns the first commands that a driver sends.
fn driver_input() -> String {
    let lines = [
        json!({"type": "hello", "token": TOKEN}),
        json!({"type": "prompt", "message": "look around"}),
    ];
    lines.map(|line| line.to_string() + "\n").concat()
}

fn assert_no_secrets(world: &World, ran: &RunOutput) {
    let mut seen = false;
    for secret in [KEY, GIVEN, TOKEN] {
        for (what, said) in [("stdout", &ran.out), ("stderr", &ran.err)] {
            assert!(!said.contains(secret), "{secret} is in {what}: {said}");
        }
        for file in files(world.root()) {
            seen |= file.ends_with("spy/seen");
            let bytes = fs::read(&file).unwrap_or_default();
            let held = bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes());
            assert!(!held, "{secret} is in {}", file.display());
        }
    }
    assert!(seen, "the spy recorded nothing");
}

/// Returns the replies of a model that searches for secrets with its tools.
fn snooping_model() -> Vec<Reply> {
    let command = "env; cat /proc/$PPID/environ /proc/$PPID/cmdline; ps axeww 2>/dev/null | grep canary | grep -v grep; true";
    vec![
        Reply::Call("bash", json!({"command": command})),
        Reply::Text("done".into()),
    ]
}

#[test]
fn secrets_are_in_no_output_file_frame_or_child() {
    for mode in [
        &["-p", "look around"][..],
        &["--json", "look around"],
        &["rpc"],
    ] {
        for given in [None, Some(GIVEN)] {
            let world = World::new();
            let spy = spy(&world);
            let model = Model::start(snooping_model());
            let flags = model.flags();
            let record = world.path("recorded.zt.ndjson");
            let mut args: Vec<&str> = mode.to_vec();
            args.extend(flags.iter().map(String::as_str));
            args.extend([
                "-e",
                text(&spy),
                "--record",
                text(&record),
                "--log-level",
                "debug",
            ]);
            args.extend(given.iter().flat_map(|key| ["--api-key", key]));
            let typed = if mode == ["rpc"] {
                driver_input()
            } else {
                String::new()
            };
            let ran = run(&world, &model, &args, &typed);
            assert_eq!(ran.code, Some(0), "{ran:#?}");
            assert_no_secrets(&world, &ran);
            // The key was used, and `--api-key` takes precedence.
            let head = &model.requests()[0].head;
            assert!(head.contains(given.unwrap_or(KEY)), "{head}");
        }
    }
}

#[test]
fn secrets_are_never_on_the_screen() {
    let world = World::new();
    let spy = spy(&world);
    let model = Model::start(snooping_model());
    let flags = model.flags();
    let mut args: Vec<&str> = flags.iter().map(String::as_str).collect();
    args.extend(["-e", text(&spy), "--api-key", GIVEN]);
    let mut screen = Screen::with(&world, (80, 24), &args, &VARIABLES);
    screen.wait_for("ext 1/1");
    screen.send("look around");
    screen.wait_until("the model has answered", |text| text.contains("done"));
    screen.wait_idle();
    for secret in [KEY, GIVEN, TOKEN] {
        screen.assert_never(secret);
    }
    screen.leave();
    let out = String::from_utf8_lossy(&screen.bytes()).into_owned();
    let ran = RunOutput {
        code: Some(0),
        out,
        err: String::new(),
    };
    assert_no_secrets(&world, &ran);
    assert!(model.requests()[0].head.contains(GIVEN));
}

#[test]
fn a_key_in_a_provider_error_is_redacted() {
    for mode in ["-p", "--json"] {
        for status in [401, 400, 500] {
            let world = World::new();
            world.configure(&json!({"retry_seconds": 0}));
            let spy = spy(&world);
            let model = Model::start(vec![Reply::Status(
                status,
                "your key sk-canary-5f2b9c71 is wrong",
            )]);
            let flags = model.flags();
            let mut args: Vec<&str> = flags.iter().map(String::as_str).collect();
            args.extend(["-e", text(&spy), mode, "hello"]);
            let ran = run(&world, &model, &args, "");
            assert_eq!(ran.code, Some(1), "{ran:#?}");
            assert_no_secrets(&world, &ran);
        }
    }
}

/// An error about an invalid key does not repeat the key.
#[test]
fn an_invalid_key_is_not_printed() {
    let world = World::new();
    // Nothing listens on this port.
    let closed = ["--provider", "openai", "--base-url", "http://127.0.0.1:1"];
    for key in ["sk-given-88ab03de\n", "sk-given-88ab03de ü", ""] {
        let ran = world.zot(&[&closed[..], &["--api-key", key, "-p", "x"]].concat());
        assert_ne!(ran.code, Some(0));
        assert!(!ran.err.contains(GIVEN), "{}", ran.err);
    }
}
