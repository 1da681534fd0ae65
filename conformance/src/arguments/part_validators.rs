//! Validates each part of a value while it is generated, so that a wrong choice is detected early.
//!
//! This only guides the search. The finished arguments are validated as a whole by the same code
//! that the host uses.

use jsonschema::{PatternOptions, ValidatorMap};
use serde_json::Value;
use zot_protocol::limits;

use super::{Unsatisfied, place::SchemaNode};

/// The parts of a schema larger than this are not compiled separately, because that would take
/// seconds.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;

/// The compiled parts of a tool's schema.
#[derive(Debug)]
pub(super) struct PartValidators {
    parts: Option<ValidatorMap>,
}

impl PartValidators {
    pub(super) fn of(schema: &Value) -> Self {
        if schema.to_string().len() > MAX_SCHEMA_BYTES {
            return Self { parts: None };
        }
        let (_, pattern_bytes) = limits::TOOL_SCHEMA_PATTERNS;
        let patterns = PatternOptions::regex()
            .size_limit(pattern_bytes)
            .dfa_size_limit(pattern_bytes);
        let parts = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build_map(schema);
        Self { parts: parts.ok() }
    }

    /// Checks a value against every schema that applies at its position, and returns the keyword
    /// that rejects it.
    pub(super) fn check(&self, place: &[SchemaNode<'_>], value: &Value) -> Result<(), Unsatisfied> {
        let Some(parts) = &self.parts else {
            return Ok(());
        };
        for node in place {
            let Some(validator) = parts.get(&format!("#{}", node.pointer)) else {
                continue;
            };
            if let Err(error) = validator.validate(value) {
                let path = error.schema_path().as_str();
                let within = path.rsplit_once('/').map_or("", |(above, _)| above);
                // If the error is behind a `$ref`, its path starts at the root; otherwise, it
                // starts at this schema.
                let referred = error.evaluation_path().as_str() != path;
                let start = if referred { "" } else { &node.pointer };
                return Err(Unsatisfied {
                    pointer: format!("{start}{within}"),
                    keyword: error.kind().keyword().to_owned(),
                });
            }
        }
        Ok(())
    }
}
