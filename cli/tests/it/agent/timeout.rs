//! `--timeout` bounds the whole run, including its input and its output.

use std::{
    io::Read,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{demo, script, scripted};
use crate::support::{World, text};

/// Waits for zot to exit, and returns its exit code and what it wrote to standard error.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().expect("failed to wait").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            let _ = child.wait();
            panic!("zot did not exit");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let mut err = String::new();
    let mut stderr = child.stderr.take().expect("should be piped");
    stderr.read_to_string(&mut err).expect("failed to read");
    (child.wait().expect("failed to wait").code(), err)
}

#[test]
fn input_that_does_not_end_is_not_read_for_ever() {
    let world = World::new();
    for mode in ["-p", "--json"] {
        let mut child = world
            .zot_command(&["--provider", "demo", "--timeout", "300ms", mode, "hello"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("failed to start zot");
        let _open = child.stdin.take();
        let (code, err) = ended(child);
        assert_eq!(
            (code, err.trim_end()),
            (Some(124), "error: timed out after 300ms")
        );
    }
}

#[test]
fn a_reader_that_does_not_read_does_not_hold_up_the_run() {
    let world = World::new();
    let turn = json!({"text": "x".repeat(1 << 20)}).to_string();
    let turns = script(&world, &[&turn]);
    for mode in ["-p", "--json"] {
        let args = ["--provider", "demo", "--script", text(&turns), "--timeout"];
        let child = world
            .zot_command(&[&args, &["2s", mode, "hello"][..]].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("failed to start zot");
        let (code, err) = ended(child);
        assert_eq!(
            (code, err.trim_end()),
            (Some(124), "error: timed out after 2s")
        );
    }
}

#[test]
fn an_intermediate_message_is_not_printed_as_the_answer() {
    let world = World::new();
    let call = json!({"name": "bash", "args": {"command": "sleep 600"}});
    let turn = json!({"text": "I will wait.", "tool_call": call}).to_string();
    let ran = scripted(&world, &[&turn], &["--timeout", "500ms", "-p", "wait"]);
    assert_eq!((ran.code, &*ran.out), (Some(124), ""), "{ran:?}");
}

#[test]
fn a_timeout_longer_than_the_clock_never_passes() {
    let world = World::new();
    let ran = demo(&world, &["--timeout", "500000000000years", "-p", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
