//! `zot rpc`, driven over pipes as another program does it.

mod authentication;
mod backpressure;
mod bad_input;
mod clients;
mod daemons;
mod documents;
pub(crate) mod driver;
mod ending;
mod everything;
mod extensions;
mod memory;
mod random;
mod turns;

use serde_json::Value;

use crate::support::World;

/// Writes the turns of the demo model to a file, and returns the flags that select it.
fn script(world: &World, turns: &[Value]) -> Vec<String> {
    let path = world.path("script.jsonl");
    let lines: Vec<String> = turns.iter().map(ToString::to_string).collect();
    std::fs::write(&path, lines.join("\n")).expect("failed to write");
    let path = path.to_str().expect("not valid UTF-8").to_owned();
    vec!["--script".to_owned(), path]
}

/// The `type` of each line.
fn types(lines: &[Value]) -> Vec<&str> {
    let types = lines.iter().map(|line| line["type"].as_str());
    types.map(|it| it.expect("missing `type`")).collect()
}

/// The text deltas among the lines, joined.
fn text(lines: &[Value]) -> String {
    let pieces = lines.iter().filter(|line| line["type"] == "text_delta");
    pieces.filter_map(|line| line["delta"].as_str()).collect()
}
