//! stdout belongs to the protocol, whoever prints.

use std::process::Command;

use crate::driver::{Driven, ack, text};

#[test]
fn a_handler_that_prints_does_not_break_the_connection() {
    let mut probe = Driven::probe();
    assert_eq!(text(&probe.result("print")), "printed");
    let ended = probe.shutdown();
    ended.well(&[ack()]);
    assert!(
        ended
            .stderr
            .contains("half a line and the rest\n{\"type\":\"shutdown_ack\"}\n")
    );
}

#[test]
fn a_child_that_prints_and_reads_does_not_either() {
    let mut probe = Driven::probe();
    // It ends although its stdin was never closed by anybody: it has one of its own, and that is empty.
    assert_eq!(text(&probe.result("child")), "exit status: 0");
    // What it would have read is still there for the extension.
    assert_eq!(probe.ask("bash")["block"], true);
    let ended = probe.shutdown();
    ended.well(&[ack()]);
    // It has as many descriptors as a child of this test: none leads to the host.
    let counted = Command::new("sh")
        .args(["-c", "ls /proc/self/fd | wc -l"])
        .output()
        .expect("sh");
    let count = String::from_utf8(counted.stdout).expect("a number");
    assert_eq!(ended.stderr, format!("noise\n{count}"));
}
