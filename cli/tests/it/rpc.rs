//! `zot rpc`, driven over pipes as another program would.

mod all_commands;
mod authentication;
mod backpressure;
mod bad_input;
mod clients;
mod daemons;
mod documents;
pub(crate) mod driver;
mod extensions;
mod memory;
mod random;
mod shutdown;
mod turns;

use serde_json::Value;

use crate::support::{World, demo_script};

/// Writes the turns of the demo model to a file, and returns the flags that select it.
fn script(world: &World, turns: &[Value]) -> Vec<String> {
    vec!["--script".to_owned(), demo_script(world, turns)]
}

/// Returns the `type` of each line.
fn types(lines: &[Value]) -> Vec<&str> {
    let types = lines.iter().map(|line| line["type"].as_str());
    types.map(|it| it.expect("missing `type`")).collect()
}

/// Returns the text deltas among the lines, joined.
fn text(lines: &[Value]) -> String {
    let pieces = lines.iter().filter(|line| line["type"] == "text_delta");
    pieces.filter_map(|line| line["delta"].as_str()).collect()
}
