//! What is made, by example and for schemas that nobody thought of.

mod edges;
mod minimal;
mod properties;
mod shrinking;

use serde_json::Value;
use zot_protocol::Object;

use super::{Arguments, Made};

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn arguments(schema: Value) -> Arguments {
    Arguments::of(&object(schema)).expect("a schema")
}

/// Each in short: its value, its words, and a `!` where it does not fit.
fn told(made: &[Made]) -> Vec<String> {
    let line = |made: &Made| {
        let sign = if made.valid { "" } else { "! " };
        let line = format!("{sign}{}: {}", made.why, Value::Object(made.args.clone()));
        line.chars().take(200).collect()
    };
    made.iter().map(line).collect()
}
