//! Load time of a large session.

use std::time::{Duration, Instant};

use super::*;

/// Run with `cargo test -p zot-host --release --test it session::speed -- --ignored --nocapture`.
#[test]
#[ignore = "benchmark for the release profile"]
fn ten_thousand_messages_load_within_200_ms() {
    let fixture = SessionFixture::new();
    let mut opened = fixture.create();
    let text = "A line of an answer, of about the usual length, with \"quotes\".\n".repeat(10);
    let start = Instant::now();
    for number in 0..2500 {
        let id = number.to_string();
        for message in [user(&text), calls(&id), result(&id), assistant(&text)] {
            let _ = opened.session.append(&message).unwrap();
        }
    }
    let per = start.elapsed() / 10_000;
    let path = opened.session.path().unwrap().to_owned();
    drop(opened);
    let took = (0..5).map(|_| {
        let start = Instant::now();
        let opened = without_notices(fixture.resume());
        assert_eq!(opened.transcript.len(), 10_000);
        start.elapsed()
    });
    let best = took.min().unwrap();
    let bytes = fs::metadata(&path).unwrap().len();
    println!("10,000 messages, {bytes} bytes: appended in {per:?} each, loaded in {best:?}");
    if !cfg!(debug_assertions) {
        assert!(best < Duration::from_millis(200), "{best:?}");
    }
}
