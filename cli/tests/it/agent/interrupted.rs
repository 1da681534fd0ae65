//! Signals sent to zot while it is idle and while it is busy.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use super::{marking_extension, script};
use crate::support::{
    World,
    model::{Model, Reply},
    process, text, wait_until,
};

/// A running `zot --json`. Tests can wait for its events.
struct Run {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Run {
    fn of(world: &World, args: &[&str]) -> Self {
        let mut child = world
            .zot_command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("failed to start zot");
        let out = BufReader::new(child.stdout.take().expect("should be piped"));
        Self { child, out }
    }

    /// Starts a run with an extension, and with a model that stops responding after the first text.
    fn mid_answer(world: &World, extension: &Path) -> Self {
        let turns = script(world, &[r#"[{"text": "a"}, {"delay_ms": 600000}]"#]);
        let args = [
            "--provider",
            "demo",
            "--script",
            text(&turns),
            "-e",
            text(extension),
            "--json",
            "x",
        ];
        let mut run = Self::of(world, &args);
        run.until("text_delta");
        run
    }

    /// Reads up to the next event of this type, and returns that event.
    fn until(&mut self, kind: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self
                .out
                .read_line(&mut line)
                .expect("failed to read a line");
            assert_ne!(read, 0, "no {kind}");
            if line.starts_with(&format!("{{\"type\":\"{kind}\"")) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(status.expect("failed to start kill").success());
    }

    fn code(mut self) -> Option<i32> {
        self.child.wait().expect("failed to wait").code()
    }
}

/// Starts a child in its own session, which signals to the process group do not reach.
const STUBBORN: &str = "/call bash {\"command\": \"setsid sh -c 'trap \\\"\\\" TERM INT HUP; sleep 600 & wait' & echo up; sleep 600\"}";

#[test]
fn one_signal_aborts_the_turn_and_ends_everything() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let world = World::new();
        let dir = marking_extension(&world, "a", "tool_call", "mark");
        let mut run = Run::of(
            &world,
            &["--provider", "demo", "-e", text(&dir), "--json", STUBBORN],
        );
        run.until("tool_progress");
        run.signal(name);
        let result = run.until("tool_result");
        assert!(result.contains("\"cancelled\""), "{result}");
        run.until("done");
        assert_eq!(run.code(), Some(code), "{name}");
        wait_until("no process is left", || {
            process::working_in(world.root()).is_empty()
        });
    }
}

#[test]
fn a_signal_while_the_model_hangs_ends_zot_immediately() {
    let world = World::new();
    let model = Model::start(vec![Reply::Hang]);
    let flags = model.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut run = Run::of(&world, &[&flags, &["--json", "x"][..]].concat());
    run.until("turn_start");
    wait_until("the model gets a request", || !model.requests().is_empty());
    run.signal("INT");
    assert!(run.until("turn_end").contains("\"aborted\""));
    run.until("done");
    assert_eq!(run.code(), Some(130));
}

/// A second signal ends zot without waiting for an extension that ignores `shutdown`.
#[test]
fn a_second_signal_ends_zot_immediately() {
    let world = World::new();
    let dir = world.path("stubborn");
    std::fs::create_dir(&dir).expect("failed to create directory");
    let program = "trap '' TERM; echo '{\"type\":\"hello\",\"name\":\"stubborn\"}'; echo '{\"type\":\"ready\"}'; while :; do sleep 1000; done";
    let manifest = serde_json::json!({"name": "stubborn", "exec": "bash", "args": ["-c", program]});
    std::fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let mut run = Run::mid_answer(&world, &dir);
    run.signal("INT");
    run.until("done");
    run.signal("INT");
    assert_eq!(run.code(), Some(130));
    wait_until("no process is left", || {
        process::working_in(world.root()).is_empty()
    });
}

/// Extensions exit when zot does, even after `kill -9`.
#[test]
fn extensions_end_when_zot_is_killed() {
    let world = World::new();
    let dir = marking_extension(&world, "a", "", "mark");
    let run = Run::mid_answer(&world, &dir);
    assert!(
        !process::working_in(&dir).is_empty(),
        "the extension is not running"
    );
    run.signal("KILL");
    assert_eq!(run.code(), None);
    wait_until("the extension has ended", || {
        process::working_in(&dir).is_empty()
    });
}
