//! Measures the cost of decoding and validating a frame, relative to baselines from the same run.
//!
//! `cargo bench -p zot-protocol` prints the table in the format that `.ci/bench` collects. Compared
//! measurements are interleaved, and the median of their ratios is reported, because machines are
//! noisy.

use std::{hint::black_box, time::Instant};

use serde::Deserialize;
use serde_json::Value;
use zot_protocol::{FromExtension, Tagged, validate};

const SMALL: &[u8] = br#"{"type":"tool_result","id":"234211622240","content":[{"type":"text","text":"Berlin: 16 C, fog (this is a deterministic fake)"}]}"#;
const MIB: usize = 1 << 20;

/// The baseline: no tag, no unknown frames, no duplicate key check, no schema.
#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded, not read")]
struct Bare {
    id: String,
    content: Vec<BareContent>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded, not read")]
struct BareContent {
    r#type: String,
    text: String,
}

fn main() {
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        41
    } else {
        1
    };

    let mut validated = Vec::new();
    let mut over_decode = Vec::new();
    let mut over_bare = Vec::new();
    for _ in 0..rounds {
        let frame = seconds(5_000, || {
            validate::frame::<FromExtension>(black_box(SMALL)).is_ok()
        });
        let decode = seconds(5_000, || {
            let Value::Object(mut frame) = serde_json::from_slice(black_box(SMALL)).expect("JSON")
            else {
                return false;
            };
            frame.shift_remove(FromExtension::TAG);
            FromExtension::decode("tool_result", Value::Object(frame)).is_ok()
        });
        let bare = seconds(5_000, || {
            serde_json::from_slice::<Bare>(black_box(SMALL)).is_ok()
        });
        validated.push(1.0 / frame);
        over_decode.push(frame / decode);
        over_bare.push(frame / bare);
    }

    println!(
        "{:<60}  {:>14}  {:>14}",
        "decode and validate", "goal", "figure"
    );
    row(
        "a small frame, relative to decoding without validation",
        "<= 2.5x",
        median(over_decode),
        2.5,
        false,
        "x",
    );
    print_only(
        "the same, relative to serde_json decoding a bare struct",
        median(over_bare),
        "x",
    );
    row(
        "small frames per second",
        ">= 300 k/s",
        median(validated) / 1e3,
        300.0,
        true,
        " k/s",
    );

    let base64 = "QUJDZGVm".repeat(MIB / 8);
    let image = format!(r#"{{"type":"image","mime_type":"image/png","data":"{base64}"}}"#);
    large("1 MiB of base64", ">= 2 GB/s", &image, 2_000.0, rounds);

    // Source code as a model reads it: one character in four is escaped.
    let code = r#"    let x = f(\"bar\");\n\tif x {\n\t\treturn \"\\d\";\n\t}\n"#;
    let text = |unit: &str| {
        format!(
            r#"{{"type":"text","text":"{}"}}"#,
            unit.repeat(MIB / unit.len())
        )
    };
    large(
        "1 MiB of text full of escapes (source code)",
        ">= 300 MB/s",
        &text(code),
        300.0,
        rounds,
    );
    let worst = throughput(&text(r#"\n\""#), rounds);
    print_only("1 MiB of nothing but escapes", worst, " MB/s");
}

fn large(what: &str, goal: &str, block: &str, least: f64, rounds: usize) {
    row(what, goal, throughput(block, rounds), least, true, " MB/s");
}

fn throughput(block: &str, rounds: usize) -> f64 {
    let line = format!(r#"{{"type":"tool_result","id":"1","content":[{block}]}}"#);
    let megabytes = f64::from(u32::try_from(line.len()).expect("a line is a few MiB")) / 1e6;
    let rounds = (0..rounds).map(|_| {
        megabytes
            / seconds(20, || {
                validate::frame::<FromExtension>(black_box(line.as_bytes())).is_ok()
            })
    });
    median(rounds.collect())
}

/// Returns the seconds per call.
fn seconds(calls: u32, mut call: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        assert!(black_box(call()), "the benchmark's own frame is invalid");
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn row(what: &str, goal: &str, measured: f64, bound: f64, at_least: bool, unit: &str) {
    let met = if at_least {
        measured >= bound
    } else {
        measured <= bound
    };
    print(
        what,
        goal,
        measured,
        unit,
        if met { "pass" } else { "MISS" },
    );
}

/// Prints a measurement that has no goal.
fn print_only(what: &str, measured: f64, unit: &str) {
    print(what, "-", measured, unit, "-");
}

fn print(what: &str, goal: &str, measured: f64, unit: &str, verdict: &str) {
    let figure = format!("{measured:.2}{unit}");
    println!("{what:<60}  {goal:>14}  {figure:>14}  {verdict}");
}
