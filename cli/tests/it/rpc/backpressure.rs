//! A driver that stops reading for a while loses nothing, and zot does not buffer without limit.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::driver::checked;
use crate::support::{
    World,
    memory::{most_resident, resident},
    model::{Model, Reply, piece},
};

const MB: u64 = 1_000_000;
const PIECES: usize = 5_000;
const BYTES: usize = 10_000;
/// Size of the model's answer: 50 MB.
const ANSWER: u64 = (PIECES * BYTES) as u64;
/// How long the driver stops reading. The test is about this stall, so it does not wait for a
/// condition.
const STALL: Duration = Duration::from_secs(10);

#[test]
fn a_driver_that_stops_reading_loses_nothing_and_memory_stays_bounded() {
    let world = World::new();
    let model = Model::start(vec![Reply::Chunks(PIECES, BYTES)]);
    let mut child = world
        .zot_command(&["rpc", "--no-ext"])
        .args(model.flags())
        .args(["--api-key", "k"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    let mut stdin = child.stdin.take().expect("should be piped");
    let prompt = json!({"id": "1", "type": "prompt", "message": "go on"});
    writeln!(stdin, "{prompt}").expect("failed to write");
    let mut lines = BufReader::new(child.stdout.take().expect("should be piped")).split(b'\n');
    let mut next = || {
        checked(
            &lines
                .next()
                .expect("failed to read a line")
                .expect("failed to read"),
        )
    };
    while next()["type"] != "assistant_start" {}

    let start = Instant::now();
    let mut most = 0;
    let mut sent = 0;
    while start.elapsed() < STALL {
        most = most.max(resident(child.id()));
        sent = model.sent();
        thread::sleep(Duration::from_millis(20));
    }
    assert!(
        sent < PIECES / 2,
        "zot keeps reading from the provider: {sent}"
    );
    assert_eq!(model.sent(), sent, "zot still reads from the provider");
    assert!(most <= 64 * MB, "{most} bytes during the stall");

    for number in 0..PIECES {
        let line = next();
        assert_eq!(line["delta"].as_str(), Some(&*piece(number, BYTES)));
    }
    assert_eq!(next()["type"], "usage");
    let message = next();
    let text = message["content"][0]["text"]
        .as_str()
        .expect("should be a string");
    let whole: String = (0..PIECES).map(|number| piece(number, BYTES)).collect();
    assert!(text == whole, "the message differs from the streamed text");
    assert_eq!(next(), json!({"type": "turn_end", "stop": "end_turn"}));
    assert_eq!(next(), json!({"type": "done"}));
    let most = most_resident(child.id());
    eprintln!("peak: {most} bytes for an answer of {ANSWER}");
    assert!(most <= 3 * ANSWER, "{most} bytes in all");
    drop(stdin);
    assert_eq!(child.wait().expect("failed to wait").code(), Some(0));
}
