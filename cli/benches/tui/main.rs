//! Measures the interactive agent on a real terminal: its start, a stream of text, and typing
//! during a flood.
//!
//! `cargo bench -p zot-cli --bench tui` prints each figure with its goal. It shares the terminal
//! driver with the tests. An argument selects rows: `cargo bench -p zot-cli --bench tui -- paint`.

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
    // Cargo also runs benches in `cargo test --all-targets`, where one round shows that they work.
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
