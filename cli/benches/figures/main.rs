//! What the program costs. `cargo bench -p zot-cli` prints the figures against their goals; a word selects a part:
//! `cargo bench -p zot-cli -- agent`.

mod agent;
mod table;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Cargo runs benches under `cargo test --all-targets` too; there, one round shows that they work.
    let rounds = if args.iter().any(|arg| arg == "--bench") {
        9
    } else {
        1
    };
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |part: &str| words.is_empty() || words.iter().any(|word| *word == part);
    if wanted("agent") {
        agent::print(rounds);
    }
}
