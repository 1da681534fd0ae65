//! Shutdown within the deadline, whatever the handlers do.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::driver::{Driven, ack, probe, text};

#[test]
fn shutdown_answers_open_requests_before_acknowledging() {
    let mut probe = Driven::probe();
    probe.call("1", "hang", &json!({}));
    probe.call("2", "patient", &json!({}));
    probe.call("3", "echo", &json!({"text": "just in time", "ms": 300}));
    let ended = probe.shutdown();
    assert!(
        ended.status.success() && ended.took < Duration::from_secs(2),
        "{:?}",
        ended.took
    );
    let answer = |id: &str| {
        let mut replies = ended.rest.iter().filter(|frame| frame["id"] == id);
        let reply = replies.next().expect("there is a reply");
        assert!(replies.next().is_none(), "there is only one reply");
        text(reply).to_owned()
    };
    assert_eq!(answer("1"), "the extension is shutting down");
    assert_eq!(answer("2"), "cancelled");
    assert_eq!(answer("3"), "just in time");
    assert_eq!((ended.rest.len(), ended.rest.last()), (4, Some(&ack())));
}

#[test]
fn end_of_input_shuts_the_extension_down() {
    let mut probe = Driven::probe();
    probe.call("1", "echo", &json!({"text": "still answered", "ms": 100}));
    probe.close();
    let ended = probe.end();
    assert_eq!(text(&ended.rest[0]), "still answered");
    assert!(
        ended.status.success() && ended.rest.len() == 1,
        "{:?}",
        ended.rest
    );
    assert!(ended.took < Duration::from_secs(2), "{:?}", ended.took);
}

#[test]
fn pending_call_tool_fails_at_shutdown() {
    let mut probe = Driven::probe();
    probe.call("1", "call", &json!({}));
    probe.wait_for(|it| it["type"] == "call_tool");
    let ended = probe.shutdown();
    assert_eq!(
        text(&ended.rest[0]),
        "the connection ended before the tool answered"
    );
    ended.assert_clean(&[ended.rest[0].clone(), ack()]);
}

#[test]
fn sigterm_terminates_the_extension_immediately() {
    let mut probe = Driven::probe();
    probe.call("1", "hang", &json!({}));
    kill_process(probe.pid(), Signal::TERM).expect("the extension is running");
    let ended = probe.end();
    assert_eq!(ended.status.signal(), Some(15));
    assert!(ended.took < Duration::from_secs(1), "{:?}", ended.took);
}

#[test]
fn a_host_that_does_not_read_cannot_delay_shutdown() {
    let mut child = Command::new(probe())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start the extension");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // Nothing reads the replies, and together they do not fit into the stdout pipe.
    let args = json!({"text": "x".repeat(50_000)});
    for number in 0..10 {
        let call =
            json!({"type": "tool_call", "id": number.to_string(), "name": "echo", "args": args});
        std::io::Write::write_all(&mut stdin, format!("{call}\n").as_bytes())
            .expect("write to stdin");
    }
    // The extension cannot write `shutdown_ack`, because the replies before it are still blocked.
    std::io::Write::write_all(&mut stdin, b"{\"type\":\"shutdown\"}\n").expect("write to stdin");
    drop(stdin);
    let start = Instant::now();
    while child.try_wait().expect("wait for the child").is_none() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the extension did not exit"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
}
