//! Killed with -9 at any point of a turn: what was shown is there again.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use super::json::event;
use crate::support::{
    World,
    model::{Model, Reply},
};

/// How much longer this runs than in `.ci/run`.
fn soak() -> u64 {
    std::env::var("ZOT_SOAK").map_or(1, |value| value.parse().expect("should be a number"))
}

/// What of an event must not be lost: a line of the transcript, as a later request has it.
fn shown(event: &Value) -> Vec<String> {
    let blocks = event["content"].as_array().cloned().unwrap_or_default();
    let texts = blocks
        .iter()
        .filter_map(|it| it["text"].as_str().map(str::to_owned));
    match event["type"].as_str() {
        Some("user_message" | "assistant_message") => texts.collect(),
        Some("tool_result") => texts.map(|text| text.trim_end().to_owned()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn what_was_shown_is_continued_with() {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut cut = 0;
    for round in 0..24 * soak() {
        let world = World::in_memory();
        let call =
            |number: u32| Reply::Call("bash", json!({"command": format!("echo result {number}")}));
        let slowly = Reply::Slowly(vec!["the ", "end ", "of ", "it"], Duration::from_millis(2));
        let model = Model::start(vec![call(1), call(2), slowly, Reply::Text("yes".into())]);
        let flags = model.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut child = world
            .zot_command(&[&flags, &["--json", "begin"][..]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("failed to start zot");
        let mut lines = BufReader::new(child.stdout.take().expect("should be piped")).lines();
        let first = lines.next().expect("no line").expect("failed to read a line");
        // Xorshift: any point will do.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 60_000));
        child.kill().expect("failed to kill");
        child.wait().expect("failed to wait");
        // What is in the pipe was shown too; a line that was cut was not.
        let mut all = first + "\n";
        let mut rest = lines.map_while(Result::ok).peekable();
        let mut ended = false;
        while let Some(line) = rest.next() {
            if rest.peek().is_none() && serde_json::from_str::<Value>(&line).is_err() {
                break;
            }
            ended |= line.contains("\"done\"");
            all.push_str(&line);
            all.push('\n');
        }
        cut += u64::from(!ended);
        let shown: Vec<String> = all.lines().map(event).flat_map(|it| shown(&it)).collect();

        let ran = world.zot(&[&flags, &["--continue", "-p", "more"][..]].concat());
        assert_eq!(ran.code, Some(0), "round {round}: {ran:#?}");
        let asked = model.asked();
        let sent = asked
            .iter()
            .rev()
            .find(|it| it.body["messages"].to_string().contains("\"more\""))
            .expect("no such request");
        let sent = sent.body["messages"].to_string();
        for text in &shown {
            let text = serde_json::to_string(text).expect("invalid JSON");
            let text = text.trim_matches('"');
            assert!(
                sent.contains(text),
                "round {round}: {text} was shown, and of it is left: {sent}"
            );
        }
    }
    assert!(cut > 0, "it was never killed in the middle");
    println!("{cut} of {} runs were cut", 24 * soak());
}
