//! Prints timings: `cargo test --release -p zot-cli --bin zot -- --ignored --nocapture timings`.

use std::time::{Duration, Instant};

use super::{Stream, markdown, plain};
use crate::tui::theme::Theme;

const PART: &str = "## A part\n\nSome *words* with `code`, a [link](https://a.example) and **more** of them, enough for two rows \
of the screen.\n\n- one\n- two\n  - inner\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {\n    let x = \"text\"; // remark\n}\n```\n\n";

fn print_timing(what: &str, bytes: usize, took: Duration) {
    let rate = f64::from(u32::try_from(bytes).expect("should fit")) / 1e6 / took.as_secs_f64();
    println!("{what}: {took:.1?}, {rate:.1} MB/s");
}

#[test]
#[ignore = "prints timings"]
fn timings() {
    let theme = Theme::dark();
    let source = PART.repeat(1_000_000 / PART.len());
    let start = Instant::now();
    let lines = markdown(&source, 100, &theme).len();
    print_timing(
        &format!("1 MB of Markdown ({lines} lines)"),
        source.len(),
        start.elapsed(),
    );

    // Like a screen: 2,000 deltas and 60 frames per second.
    let deltas: Vec<&str> = source
        .as_bytes()
        .chunks(10)
        .map(|it| std::str::from_utf8(it).expect("should be ASCII"))
        .collect();
    let start = Instant::now();
    let mut stream = Stream::default();
    let mut given = 0;
    for (number, delta) in deltas.iter().enumerate() {
        stream.push(delta);
        if number % 33 == 0 {
            given += stream.finished(100, &theme).len();
            std::hint::black_box(stream.open(100, &theme));
        }
    }
    given += stream.finish(100, &theme).len();
    assert_eq!(given, lines);
    let took = start.elapsed();
    print_timing(
        &format!("{} deltas, drawn every 33rd", deltas.len()),
        source.len(),
        took,
    );
    let second = took / u32::try_from(deltas.len() / 2000).expect("should fit");
    println!("per second, at 2,000 deltas/s: {second:.1?}");

    for (what, line) in [
        ("a line of 5 MB without a space", "x".repeat(5_000_000)),
        (
            "a line of 5 MB of wide characters",
            "漢".repeat(5_000_000 / 3),
        ),
        ("a line of 5 MB of words", "word ".repeat(1_000_000)),
        ("5 MB of stars", "*a_".repeat(5_000_000 / 3)),
        ("5 MB of brackets", "[".repeat(5_000_000)),
        ("5 MB of quotes", "> ".repeat(5_000_000 / 2)),
        ("5 MB of bullets", "- ".repeat(5_000_000 / 2)),
    ] {
        let start = Instant::now();
        let lines = plain(&line, 100, theme.text).len();
        print_timing(
            &format!("{what}, plain ({lines} lines)"),
            line.len(),
            start.elapsed(),
        );
        let start = Instant::now();
        let lines = markdown(&line, 100, &theme).len();
        print_timing(
            &format!("{what}, Markdown ({lines} lines)"),
            line.len(),
            start.elapsed(),
        );
    }
    let source = "    let x: Vec<u8> = f(\"text\", 12, 'c', MAX); // remark\n".repeat(20_000);
    let start = Instant::now();
    super::tests::code(&source, "rs", 100, &theme);
    print_timing("code in colours", source.len(), start.elapsed());
}
