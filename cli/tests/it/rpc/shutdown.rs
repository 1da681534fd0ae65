//! How `zot rpc` ends: at the end of its input, when its output is closed, or by a signal.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    driver::{Rpc, checked_lines},
    extensions, script, types,
};
use crate::support::{World, wait_until};

#[test]
fn running_and_queued_commands_finish_when_stdin_closes() {
    let world = World::new();
    extensions::install(&world, "kit");
    let mut zot = Rpc::start(&world, &["--provider", "demo"]);
    let slow = json!({"command": "sleep 0.3; echo slow"});
    for (id, message) in [
        ("a", format!("/call bash {slow}")),
        ("b", "hello".to_owned()),
    ] {
        zot.send(&json!({"id": id, "type": "prompt", "message": message}));
    }
    zot.send(&json!({"id": "c", "type": "compact"}));
    // This command's prompt is queued last, no matter when the extension answers.
    zot.send(&json!({"id": "d", "type": "run_command", "name": "prompt"}));
    let ended = zot.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let said: Vec<&Value> = ended
        .received
        .iter()
        .filter(|line| {
            !line["type"]
                .as_str()
                .unwrap_or_default()
                .starts_with("ext_")
        })
        .collect();
    let done = said.iter().filter(|line| line["type"] == "done").count();
    assert_eq!(done, 4);
    let ids: Vec<&Value> = said
        .iter()
        .filter(|line| line["type"] == "response")
        .map(|line| &line["id"])
        .collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
}

#[test]
fn a_prompt_from_echo_prints_the_whole_turn() {
    let world = World::new();
    let ran = world
        .command("sh")
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .args([
            "-c",
            r#"echo '{"type":"prompt","message":"hello"}' | "$zot" rpc --provider demo"#,
        ])
        .output()
        .expect("failed to start sh");
    assert!(ran.status.success());
    let lines = checked_lines(&ran.stdout);
    let names = types(&lines);
    assert_eq!((names[0], names[names.len() - 1]), ("response", "done"));
}

#[test]
fn stdin_and_stdout_can_be_files() {
    let world = World::new();
    let (commands, said) = (world.path("commands"), world.path("said"));
    let mut text = String::new();
    for number in 0..2000 {
        let ping = json!({"id": number.to_string(), "type": "ping"});
        text.push_str(&format!(
            "{ping}
"
        ));
    }
    text.push_str("{\"id\":\"p\",\"type\":\"prompt\",\"message\":\"hello\"}");
    std::fs::write(&commands, text).expect("failed to write");
    let status = world
        .zot_command(&["rpc", "--provider", "demo"])
        .stdin(std::fs::File::open(&commands).expect("failed to open"))
        .stdout(std::fs::File::create(&said).expect("failed to create file"))
        .status()
        .expect("failed to start zot");
    assert!(status.success());
    let said = std::fs::read(&said).expect("failed to read");
    let lines = checked_lines(&said);
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["command"] == "ping")
            .count(),
        2000
    );
    assert_eq!(types(&lines).last(), Some(&"done"));
}

#[test]
fn closing_stdout_ends_zot_even_during_a_turn() {
    for is_busy in [true, false] {
        let world = World::new();
        let flags = script(
            &world,
            &[json!([{"text": "Well, "}, {"delay_ms": 600_000}])],
        );
        let mut child = world
            .zot_command(&["rpc", "--provider", "demo"])
            .args(&flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("failed to start zot");
        let mut stdin = child.stdin.take().expect("should be piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("should be piped"));
        if is_busy {
            writeln!(
                stdin,
                "{}",
                json!({"id": "1", "type": "prompt", "message": "hello"})
            )
            .expect("failed to write");
            let mut line = String::new();
            while !line.contains("text_delta") {
                line.clear();
                stdout.read_line(&mut line).expect("failed to read a line");
            }
        }
        drop(stdout);
        // stdin is still open and nothing is written to it, so zot must notice the closed pipe.
        wait_until("zot has ended", || {
            child.try_wait().expect("failed to wait").is_some()
        });
        assert_eq!(child.wait().expect("failed to wait").code(), Some(141));
    }
}

#[test]
fn closing_a_full_stdout_pipe_ends_zot() {
    let world = World::new();
    // The answer is much larger than the pipe and all buffers.
    let flags = script(&world, &[json!({"text": vec!["x".repeat(1_000); 5_000]})]);
    let mut child = world
        .zot_command(&["rpc", "--provider", "demo", "--no-ext"])
        .args(&flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    let mut stdin = child.stdin.take().expect("should be piped");
    let stdout = child.stdout.take().expect("should be piped");
    let prompt = json!({"id": "1", "type": "prompt", "message": "hello"});
    writeln!(stdin, "{prompt}").expect("failed to write");
    let held = rustix::pipe::fcntl_getpipe_size(&stdout).expect("failed to query pipe");
    wait_until("the pipe is full", || {
        // Pages of the pipe can be partly filled, so a full pipe can contain fewer bytes than its
        // size.
        rustix::io::ioctl_fionread(&stdout).expect("failed to query pipe") > held as u64 * 3 / 4
    });
    drop(stdout);
    let closed = Instant::now();
    while child.try_wait().expect("failed to wait").is_none() {
        if closed.elapsed() > Duration::from_secs(30) {
            child.kill().expect("failed to kill");
            child.wait().expect("failed to wait");
            panic!("zot did not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(child.wait().expect("failed to wait").code(), Some(141));
}

#[test]
fn a_signal_aborts_the_turn_and_ends_zot() {
    let world = World::new();
    extensions::install(&world, "kit");
    let flags = script(
        &world,
        &[json!([{"text": "Well, "}, {"delay_ms": 600_000}])],
    );
    let mut zot = Rpc::start(&world, &["--provider", "demo", &flags[0], &flags[1]]);
    zot.send(&json!({"id": "1", "type": "prompt", "message": "hello"}));
    zot.until_event("text_delta");
    zot.send(&json!({"id": "2", "type": "prompt", "message": "more"}));
    zot.data(&json!({"id": "3", "type": "ping"}));
    zot.signal(Signal::TERM);
    // stdin stays open.
    let ended = zot.ended();
    assert_eq!(ended.code, Some(128 + 15));
    let aborted = ended
        .received
        .iter()
        .find(|line| line["type"] == "turn_end")
        .expect("no such event");
    assert_eq!(aborted["stop"], "aborted");
    assert_eq!(
        ended
            .received
            .iter()
            .filter(|line| line["type"] == "done")
            .count(),
        1
    );
    let queued = ended
        .received
        .iter()
        .find(|line| line["id"] == "2")
        .expect("no response");
    assert_eq!(queued["error"], "zot is shutting down");
}

#[test]
fn extensions_are_shut_down_at_the_end() {
    let world = World::new();
    extensions::install(&world, "kit");
    let mut zot = Rpc::start(&world, &["--provider", "demo"]);
    zot.until_event("ext_notify");
    assert_eq!(zot.end().code, Some(0));
    let log =
        std::fs::read_to_string(world.path("zot/logs/ext-kit.log")).expect("failed to read log");
    assert!(log.contains("was shut down"), "{log}");
}
