//! The handshake.

use std::process::Command;

use serde_json::json;

use crate::driver::{Driven, ack, probe};

#[test]
fn registrations_are_sent_before_hello_ack() {
    let mut driven = Driven::start(Command::new(probe()));
    driven.wait_for(|frame| frame["type"] == "ready");
    let ended = driven.shutdown();
    let kinds: Vec<_> = ended
        .rest
        .iter()
        .map(|frame| frame["type"].clone())
        .collect();
    assert_eq!(kinds[0], "hello");
    assert_eq!(kinds.last(), Some(&json!("shutdown_ack")));
    assert_eq!(
        ended.rest[0],
        json!({
            "type": "hello", "name": "probe", "version": "1.0.0",
            "capabilities": ["commands", "tools", "events", "panels", "tool_cancel", "call_tool", "errors"],
        })
    );
    ended.assert_clean(&ended.rest);
    assert_eq!(ended.rest.last(), Some(&ack()));
}

#[test]
fn call_tool_fails_on_an_older_host() {
    let mut driven = Driven::start(Command::new(probe()));
    driven.send(&json!({
        "type": "hello_ack", "protocol_version": 1, "zot_version": "0", "provider": "p", "model": "m", "cwd": "/",
    }));
    let result = driven.result("call");
    assert_eq!(
        result["content"][0]["text"],
        "this host does not support `call_tool`"
    );
}
