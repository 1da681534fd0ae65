//! A tool's own schema: foreign input that must not fetch, hang or bloat.

mod ordinary;
mod work;

use std::{fmt, sync::OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::work::Work;
use super::{explain, plain::plain, refusal::write_place};
use crate::{Object, limits};

/// A tool's schema, which compiles, and is compiled when something is checked with it.
///
/// Checking is synchronous and its work is bounded by [`limits::TOOL_SCHEMA_WORK`]: a few tenths of a second at the
/// worst, for values of megabytes. A host does that beside its event loop.
#[derive(Debug)]
pub struct ToolSchema {
    schema: Value,
    validator: OnceLock<Validator>,
    work: Work,
}

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It is too large.
    #[error(
        "the schema has {bytes} bytes, more than {}",
        limits::TOOL_SCHEMA_BYTES
    )]
    TooLarge {
        /// Its size as compact JSON.
        bytes: usize,
    },
    /// It nests too deep.
    #[error("the schema nests more than {} levels deep", limits::TOOL_SCHEMA_DEPTH)]
    TooDeep,
    /// It has too many patterns.
    #[error("the schema has more than {} patterns", limits::TOOL_SCHEMA_PATTERNS.0)]
    TooManyPatterns,
    /// Even a small value would be too much work.
    #[error("the schema is too much work to check: its parts multiply")]
    TooMuchWork,
    /// It is not about an object.
    #[error("the schema's type is {0}, not \"object\"")]
    NotAnObject(String),
    /// It refers to something outside itself, or to nothing.
    #[error("the schema refers to `{0}`, which is not a place in it, such as `#/$defs/x`")]
    Reference(String),
    /// It uses a keyword whose work cannot be told beforehand.
    #[error("the schema uses `{0}`, which is not supported here")]
    Unsupported(&'static str),
    /// It is not a JSON Schema.
    #[error("not a JSON Schema: {0}")]
    Invalid(String),
}

/// What does not fit a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Where, as a JSON pointer; `""` is the whole value.
    pub pointer: String,
    /// Why, in one line without control characters.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, &self.pointer, &self.reason)
    }
}

impl ToolSchema {
    /// Compiles the schema of a tool's arguments: of type `object`, or of no type, which means the same.
    pub fn for_arguments(schema: &Object) -> Result<Self, SchemaFault> {
        match schema.get("type") {
            Some(Value::String(name)) if name == "object" => Self::compile(schema),
            Some(other) => Err(SchemaFault::NotAnObject(explain::shown(other))),
            None => {
                let mut schema = schema.clone();
                schema.insert("type".into(), "object".into());
                Self::compile(&schema)
            }
        }
    }

    /// Compiles any schema that comes from outside.
    pub fn compile(schema: &Object) -> Result<Self, SchemaFault> {
        let schema = Value::Object(schema.clone());
        if depth(&schema) > limits::TOOL_SCHEMA_DEPTH {
            return Err(SchemaFault::TooDeep);
        }
        let bytes = schema.to_string().len();
        if bytes > limits::TOOL_SCHEMA_BYTES {
            return Err(SchemaFault::TooLarge { bytes });
        }
        let work = Work::of(&schema)?;
        let validator = OnceLock::new();
        if !ordinary::is_ordinary(&schema) {
            let _ = validator.set(build(&schema)?);
        }
        Ok(Self {
            schema,
            validator,
            work,
        })
    }

    /// Checks a value against the schema.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        if !self.work.is_bearable(value) {
            let reason = "is too large or too deep to be checked against the schema".to_owned();
            return Err(Mismatch {
                pointer: String::new(),
                reason,
            });
        }
        let validator = self
            .validator
            .get_or_init(|| build(&self.schema).expect("an ordinary schema compiles"));
        if validator.is_valid(value) {
            return Ok(());
        }
        let (pointer, reason) = explain::first(validator, value);
        Err(Mismatch { pointer, reason })
    }
}

fn build(schema: &Value) -> Result<Validator, SchemaFault> {
    let (_, pattern_bytes) = limits::TOOL_SCHEMA_PATTERNS;
    // The engine without look-around and back references: its matching time is linear in the text.
    let patterns = PatternOptions::regex()
        .size_limit(pattern_bytes)
        .dfa_size_limit(pattern_bytes);
    let built = jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema);
    built.map_err(|error| {
        let at = error.instance_path().as_str();
        let said = match &**error.instance() {
            Value::String(text) if error.kind().keyword() == "format" => {
                format!(
                    "{at}: the pattern {} is not one, is too large, or looks around",
                    plain(text, 60)
                )
            }
            _ => format!("{at}: {error}"),
        };
        SchemaFault::Invalid(plain(&said, 200))
    })
}

/// Bounded by the parser's own limit, so the recursion is safe.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Object(object) => object.values().map(depth).max(),
        Value::Array(list) => list.iter().map(depth).max(),
        _ => None,
    };
    1 + below.unwrap_or(0)
}
