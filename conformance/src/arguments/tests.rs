//! Tests of the generated arguments.

mod cases;
mod minimal;
mod properties;
mod shrinking;

use serde_json::Value;
use zot_protocol::Object;

use super::{Arguments, GeneratedArgs};

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn arguments(schema: Value) -> Arguments {
    Arguments::of(&object(schema)).expect("the schema is valid")
}

/// Formats each case as its description and its value, with a `!` if it is invalid.
fn described(made: &[GeneratedArgs]) -> Vec<String> {
    let line = |made: &GeneratedArgs| {
        let sign = if made.valid { "" } else { "! " };
        let line = format!("{sign}{}: {}", made.why, Value::Object(made.args.clone()));
        line.chars().take(200).collect()
    };
    made.iter().map(line).collect()
}
