//! stdout is reserved for the protocol.

use std::process::Command;

use crate::driver::{Driven, ack, text};

#[test]
fn a_handler_that_prints_does_not_break_the_connection() {
    let mut probe = Driven::probe();
    assert_eq!(text(&probe.result("print")), "printed");
    let ended = probe.shutdown();
    ended.assert_clean(&[ack()]);
    assert!(
        ended
            .stderr
            .contains("half a line and the rest\n{\"type\":\"shutdown_ack\"}\n")
    );
}

#[test]
fn a_child_that_prints_and_reads_does_not_break_the_connection() {
    let mut probe = Driven::probe();
    // The child exits even though its stdin was never closed, because it has its own empty stdin.
    assert_eq!(text(&probe.result("child")), "exit status: 0");
    // The extension still receives its own input.
    assert_eq!(probe.ask("bash")["block"], true);
    let ended = probe.shutdown();
    ended.assert_clean(&[ack()]);
    // The child has no more descriptors than a child of this test, so none is connected to the
    // host.
    let counted = Command::new("sh")
        .args(["-c", "ls /proc/self/fd | wc -l"])
        .output()
        .expect("run sh");
    let count = String::from_utf8(counted.stdout).expect("the count is UTF-8");
    assert_eq!(ended.stderr, format!("noise\n{count}"));
}
