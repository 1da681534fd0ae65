//! A line of `zot rpc`, for whoever drives it.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::{Refusal, check_with, compile, json, plain::plain, value};
use crate::{
    rpc::{Data, Event, Output},
    schema,
};

/// How many kinds of responses there are: one to each command, and one to a line that holds none.
const RESPONSES: usize = Data::COMMANDS.len() + 1;

/// Reads one line of `zot rpc`: an event by the schema of its type, a response by that of its command. An event of an unknown
/// type is a value, not a refusal.
pub fn output(line: &[u8]) -> Result<Output, Refusal> {
    let parsed = json::parse(line)?;
    if parsed.get("type").and_then(Value::as_str) == Some("response") {
        check_response(&parsed)?;
    } else {
        value::<Event>(&parsed)?;
    }
    serde_json::from_value(parsed)
        .map_err(|error| Refusal::invalid("", plain(&error.to_string(), super::REASON_CHARS)))
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
