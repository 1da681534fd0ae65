//! Tool schemas. They are untrusted input, so compiling or checking one must not fetch documents,
//! hang or exhaust memory.

mod simple;
mod work;

use std::{fmt, sync::OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::work::Work;
use super::{explain, plain::plain, refusal::write_with_pointer};
use crate::{Object, limits};

/// A valid tool schema. A simple schema is compiled on its first use, any other at once.
///
/// Checking is synchronous, and its work is limited by [`limits::TOOL_SCHEMA_WORK`]: at worst a few
/// tenths of a second, for values of several megabytes. A host should check on a blocking thread.
#[derive(Debug)]
pub struct ToolSchema {
    schema: Value,
    validator: OnceLock<Validator>,
    work: Work,
}

/// Why a schema is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is too large.
    #[error(
        "the schema is {bytes} bytes, more than the limit of {}",
        limits::TOOL_SCHEMA_BYTES
    )]
    TooLarge {
        /// The size of the schema as compact JSON.
        bytes: usize,
    },
    /// The schema is nested too deeply.
    #[error(
        "the schema is nested more than {} levels deep",
        limits::TOOL_SCHEMA_DEPTH
    )]
    TooDeep,
    /// The schema has too many patterns.
    #[error("the schema has more than {} patterns", limits::TOOL_SCHEMA_PATTERNS.0)]
    TooManyPatterns,
    /// Checking even a small value would be too much work.
    #[error(
        "the schema is too expensive to check: it applies too many subschemas to the same value"
    )]
    TooMuchWork,
    /// The type of the schema is not `object`.
    #[error("the schema's type is {0}, not \"object\"")]
    NotAnObject(String),
    /// A reference is external, or its target does not exist.
    #[error(
        "the schema refers to `{0}`; only references within the schema are supported, such as `#/$defs/x`"
    )]
    Reference(String),
    /// The schema uses a keyword whose cost cannot be predicted.
    #[error("the schema uses `{0}`, which is not supported in tool schemas")]
    Unsupported(&'static str),
    /// The schema is not a valid JSON Schema.
    #[error("not a JSON Schema: {0}")]
    Invalid(String),
}

/// An error in a value that does not match a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// The invalid location, as a JSON pointer; `""` is the whole value.
    pub pointer: String,
    /// What is wrong, on one line and without control characters.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with_pointer(formatter, &self.pointer, &self.reason)
    }
}

impl ToolSchema {
    /// Compiles the schema of a tool's arguments. Its `type` must be `object`, or absent.
    pub fn for_arguments(schema: &Object) -> Result<Self, SchemaError> {
        match schema.get("type") {
            Some(Value::String(name)) if name == "object" => Self::compile(schema),
            Some(other) => Err(SchemaError::NotAnObject(explain::shown(other))),
            None => {
                let mut schema = schema.clone();
                schema.insert("type".into(), "object".into());
                Self::compile(&schema)
            }
        }
    }

    /// Validates an untrusted schema, and compiles it unless it is simple.
    pub fn compile(schema: &Object) -> Result<Self, SchemaError> {
        let schema = Value::Object(schema.clone());
        if depth(&schema) > limits::TOOL_SCHEMA_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let bytes = schema.to_string().len();
        if bytes > limits::TOOL_SCHEMA_BYTES {
            return Err(SchemaError::TooLarge { bytes });
        }
        let work = Work::of(&schema)?;
        let validator = OnceLock::new();
        if !simple::is_simple(&schema) {
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
        if !self.work.is_within_limit(value) {
            let reason = "is too large or too deeply nested to check against the schema".to_owned();
            return Err(Mismatch {
                pointer: String::new(),
                reason,
            });
        }
        let validator = self
            .validator
            .get_or_init(|| build(&self.schema).expect("a simple schema compiles"));
        if validator.is_valid(value) {
            return Ok(());
        }
        let (pointer, reason) = explain::first(validator, value);
        Err(Mismatch { pointer, reason })
    }
}

fn build(schema: &Value) -> Result<Validator, SchemaError> {
    let (_, pattern_bytes) = limits::TOOL_SCHEMA_PATTERNS;
    // This regex engine has no look-around and no back-references, so matching takes linear time.
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
                    "{at}: the pattern {} is invalid, too large, or uses look-around",
                    plain(text, 60)
                )
            }
            _ => format!("{at}: {error}"),
        };
        SchemaError::Invalid(plain(&said, 200))
    })
}

/// Returns the nesting depth. Recursion is safe because the parser limits the depth.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Object(object) => object.values().map(depth).max(),
        Value::Array(list) => list.iter().map(depth).max(),
        _ => None,
    };
    1 + below.unwrap_or(0)
}
