//! Measures interactive mode in a real terminal: startup time, streaming throughput, and typing
//! latency during a flood of output.
//!
//! `cargo bench -p zot-cli --bench tui` prints each figure with its goal. An argument selects rows:
//! `cargo bench -p zot-cli --bench tui -- paint`. The benchmark shares the terminal driver with the
//! tests.

#[path = "../row.rs"]
mod row;
mod rows;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/it/tui/screen.rs"]
mod screen;
mod support;

use rows::Row;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let rounds = if args.iter().any(|arg| arg == "--bench") {
        15
    } else {
        1
    };
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |row: &Row| words.is_empty() || words.iter().any(|word| row.what.contains(*word));
    row::head("the interactive agent");
    for row in Row::all().into_iter().filter(wanted) {
        row.print(rounds);
    }
}
