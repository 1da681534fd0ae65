//! After `kill -9` at any point in a turn, the session contains everything that was shown.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use super::json::event;
use crate::support::{
    Rng, World,
    model::{Model, Reply},
    soak,
};

/// Returns the texts in an event that the session must contain.
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
fn continue_after_kill_has_everything_that_was_shown() {
    let mut rng = Rng::new(1);
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
        let first = lines
            .next()
            .expect("no line")
            .expect("failed to read a line");
        std::thread::sleep(Duration::from_micros(rng.below(60_000)));
        child.kill().expect("failed to kill");
        child.wait().expect("failed to wait");
        // Complete lines left in the pipe count as shown. A partial line does not.
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
        cut += usize::from(!ended);
        let shown: Vec<String> = all.lines().map(event).flat_map(|it| shown(&it)).collect();

        let ran = world.zot(&[&flags, &["--continue", "-p", "more"][..]].concat());
        assert_eq!(ran.code, Some(0), "round {round}: {ran:#?}");
        let asked = model.requests();
        let sent = asked
            .iter()
            .rev()
            .find(|it| it.json()["messages"].to_string().contains("\"more\""))
            .expect("no such request");
        let sent = sent.json()["messages"].to_string();
        for text in &shown {
            let text = serde_json::to_string(text).expect("invalid JSON");
            let text = text.trim_matches('"');
            assert!(
                sent.contains(text),
                "round {round}: {text} was shown but is missing in: {sent}"
            );
        }
    }
    assert!(cut > 0, "no run was killed before it finished");
    println!(
        "{cut} of {} runs were killed before they finished",
        24 * soak()
    );
}
