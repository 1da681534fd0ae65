//! Concurrent requests and ordered events.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::driver::{Driven, ack, text};

#[test]
fn a_hundred_calls_run_concurrently_and_each_gets_its_own_answer() {
    let mut probe = Driven::probe();
    let start = Instant::now();
    for number in 0..100 {
        let tool = if number % 2 == 0 { "echo" } else { "later" };
        let args = json!({"text": format!("number {number}"), "ms": 300});
        probe.call(&number.to_string(), tool, &args);
    }
    for number in (0..100).rev() {
        let result = probe.reply("tool_result", &number.to_string());
        assert_eq!(text(&result), format!("number {number}"));
    }
    // Sequentially they would take thirty seconds.
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let ended = probe.shutdown();
    assert_eq!(ended.rest.last(), Some(&ack()));
    let progress = |frame: &&serde_json::Value| frame["type"] == "tool_progress";
    assert_eq!(ended.rest.iter().filter(progress).count(), 50);
    assert_eq!(ended.rest.len(), 51, "one reply each: {:?}", ended.rest);
}

#[test]
fn a_thousand_keys_are_handled_in_order() {
    let mut probe = Driven::probe();
    let typed: String = ('a'..='z').cycle().take(1000).collect();
    for letter in typed.chars() {
        probe.send(&json!({
            "type": "panel_key", "panel_id": "keys", "key": "rune", "text": letter,
        }));
    }
    loop {
        // Empty text is not sent: no key may have been handled yet.
        let typed_so_far = probe.command("typed");
        let seen = typed_so_far["display"].as_str().unwrap_or_default();
        assert!(typed.starts_with(seen), "{seen}");
        if seen == typed {
            break;
        }
    }
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn a_guard_answers_while_tools_hang() {
    let mut probe = Driven::probe();
    for number in 0..10 {
        probe.call(&number.to_string(), "hang", &json!({}));
    }
    let start = Instant::now();
    assert_eq!(probe.ask("bash")["reason"], "no shells");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_cancelled_tool_is_notified() {
    let mut probe = Driven::probe();
    probe.call("1", "patient", &json!({}));
    probe.send(&json!({"type": "tool_cancel", "id": "1"}));
    assert_eq!(text(&probe.reply("tool_result", "1")), "cancelled");
    probe.shutdown().assert_clean(&[ack()]);
}

#[test]
fn call_tool_sends_its_parent_id_and_receives_the_result() {
    let mut probe = Driven::probe();
    probe.call("7", "call", &json!({}));
    let call = probe.wait_for(|it| it["type"] == "call_tool");
    assert_eq!(
        (&call["name"], &call["parent_id"]),
        (&json!("other"), &json!("7"))
    );
    probe.send(&json!({
        "type": "tool_result", "id": call["id"], "name": "other", "is_error": false,
        "content": [{"type": "text", "text": "from the other"}],
    }));
    assert_eq!(text(&probe.reply("tool_result", "7")), "from the other");
    probe.shutdown().assert_clean(&[ack()]);
}
