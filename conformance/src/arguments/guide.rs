//! A check of every part of a value while it is made, so that a wrong choice is noticed where it is made.
//!
//! It guides and proves nothing: what is made is checked as a whole by the same code that the host checks with.

use jsonschema::{PatternOptions, ValidatorMap};
use serde_json::Value;
use zot_protocol::limits;

use super::{Unsatisfied, place::Node};

/// Compiling each part of a larger schema by itself would take seconds. Such a schema is made for without a guide.
const GUIDED_BYTES: usize = 32 * 1024;

/// The compiled parts of a tool's schema.
#[derive(Debug)]
pub(super) struct Guide {
    parts: Option<ValidatorMap>,
}

impl Guide {
    pub(super) fn of(schema: &Value) -> Self {
        if schema.to_string().len() > GUIDED_BYTES {
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

    /// Whether a value fits all schemas of its place, and if not, the keyword that refuses it.
    pub(super) fn check(&self, place: &[Node<'_>], value: &Value) -> Result<(), Unsatisfied> {
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
                // Behind a reference the path starts at the root; else it starts at this schema.
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
