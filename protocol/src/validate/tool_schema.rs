//! A tool's own schema: foreign input that must not fetch, hang or bloat.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::explain;
use crate::{Object, limits};

/// More places than this to look at for one value, once references are followed, and a schema is refused: a few
/// lines of references can stand for more work than there is time.
const EXPANDED_SCHEMAS: u64 = 20_000;
/// Patterns that compile to more than this are refused.
const PATTERN_BYTES: usize = 1 << 20;

/// A tool's schema, compiled.
#[derive(Debug)]
pub struct ToolSchema(Validator);

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
    /// Its references multiply.
    #[error("the schema's references expand to more than {EXPANDED_SCHEMAS} schemas")]
    Expands,
    /// It is not about an object.
    #[error("the schema's type is {0}, not \"object\"")]
    NotAnObject(String),
    /// It refers to something outside itself.
    #[error("the schema refers to `{0}`, which is outside it")]
    OutsideReference(String),
    /// It is not a JSON Schema.
    #[error("not a JSON Schema: {0}")]
    Invalid(String),
}

/// What does not fit a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{reason}", .pointer, if .pointer.is_empty() { "" } else { ": " })]
pub struct Mismatch {
    /// Where, as a JSON pointer; `""` is the whole value.
    pub pointer: String,
    /// Why, in one line.
    pub reason: String,
}

impl ToolSchema {
    /// Compiles the schema of a tool's arguments: of type `object`, or of no type, which means the same.
    pub fn for_arguments(schema: &Object) -> Result<Self, SchemaFault> {
        match schema.get("type") {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) if name == "object" => {}
            Some(other) => return Err(SchemaFault::NotAnObject(explain::shown(other))),
        }
        Self::compile(schema)
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
        if let Some(outside) = outside_reference(&schema) {
            return Err(SchemaFault::OutsideReference(outside));
        }
        if expansion(&schema, &schema, &mut Vec::new(), &mut Vec::new()) > EXPANDED_SCHEMAS {
            return Err(SchemaFault::Expands);
        }
        // The engine without look-around and back references: its matching time is linear in the text.
        jsonschema::options()
            .offline()
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_BYTES)
                    .dfa_size_limit(PATTERN_BYTES),
            )
            .build(&schema)
            .map(Self)
            .map_err(|error| {
                SchemaFault::Invalid(explain::shown(&Value::String(error.to_string())))
            })
    }

    /// Checks a value against the schema.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let (pointer, reason) = explain::first(&self.0, value);
        Err(Mismatch { pointer, reason })
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(object) => Box::new(object.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Bounded by the parser's own limit, so the recursion is safe.
fn depth(value: &Value) -> usize {
    1 + children(value).map(depth).max().unwrap_or(0)
}

fn reference(schema: &Value) -> Option<&str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .find_map(|key| schema.get(key)?.as_str())
}

fn outside_reference(schema: &Value) -> Option<String> {
    match reference(schema) {
        Some(target) if !target.starts_with('#') => {
            Some(explain::shown(&Value::from(target)).replace('"', ""))
        }
        _ => children(schema).find_map(outside_reference),
    }
}

/// How many schemas stand behind this one once its references are followed. A reference back to where one is counts
/// once: following it again takes a deeper value.
fn expansion<'s>(
    schema: &'s Value,
    root: &'s Value,
    within: &mut Vec<&'s str>,
    known: &mut Vec<(&'s str, u64)>,
) -> u64 {
    let mut count: u64 = 1;
    if let Some(target) = reference(schema)
        && !within.contains(&target)
    {
        let below = match known.iter().find(|(name, _)| *name == target) {
            Some((_, below)) => *below,
            None => {
                within.push(target);
                let below = target
                    .strip_prefix('#')
                    .and_then(|pointer| root.pointer(pointer))
                    .map_or(1, |target| expansion(target, root, within, known));
                within.pop();
                known.push((target, below));
                below
            }
        };
        count = count.saturating_add(below);
    }
    for child in children(schema) {
        if count > EXPANDED_SCHEMAS {
            break;
        }
        count = count.saturating_add(expansion(child, root, within, known));
    }
    count
}
