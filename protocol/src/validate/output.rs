//! Validation of the output of `zot rpc`, for drivers.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::{Refusal, check_with, compile, json, value};
use crate::{
    rpc::{Data, Event, Output},
    schema,
};

/// The number of response types: one for each command, and one for unknown commands.
const RESPONSES: usize = Data::COMMANDS.len() + 1;

/// Parses one line of `zot rpc` output. Validates an event against the schema for its type, and a
/// response against the schema for its command. An event of an unknown type is not an error.
pub fn output(line: &[u8]) -> Result<Output, Refusal> {
    let parsed = json::parse(line)?;
    if parsed.get("type").and_then(Value::as_str) == Some("response") {
        check_response(&parsed)?;
    } else {
        value::<Event>(&parsed)?;
    }
    serde_json::from_value(parsed).map_err(|error| Refusal::undecodable(&error))
}

fn check_response(response: &Value) -> Result<(), Refusal> {
    static COMPILED: [OnceLock<Validator>; RESPONSES] = [const { OnceLock::new() }; RESPONSES];
    let command = response.get("command").and_then(Value::as_str);
    let at = Data::COMMANDS
        .iter()
        .position(|known| command == Some(*known));
    let validator = COMPILED[at.unwrap_or(RESPONSES - 1)]
        .get_or_init(|| compile(&schema::of_response(at.map(|at| Data::COMMANDS[at])).schema));
    check_with(validator, response)
}
