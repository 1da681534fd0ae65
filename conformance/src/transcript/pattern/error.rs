//! Errors in patterns and templates, and mismatches.

use std::fmt;

use serde_json::Value;

use crate::transcript::{equal::shown, pointer::Path};

/// A pattern or template does not compile, or a template uses an unknown value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PatternError {
    /// JSON pointer to the error; `""` is the root.
    pub pointer: String,
    /// The reason, on one line.
    pub why: String,
}

impl PatternError {
    pub(super) fn new(at: &Path, why: impl Into<String>) -> Self {
        Self {
            pointer: at.to_string(),
            why: why.into(),
        }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, &self.pointer)?;
        formatter.write_str(&self.why)
    }
}

/// A value does not match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// JSON pointer to the difference; `""` is the root.
    pub pointer: String,
    /// The expected value: truncated JSON or a description.
    pub expected: String,
    /// The actual value, in the same form.
    pub actual: String,
}

impl Mismatch {
    pub(in crate::transcript) fn new(
        at: &Path,
        expected: impl Into<String>,
        actual: Option<&Value>,
    ) -> Self {
        Self {
            pointer: at.to_string(),
            expected: expected.into(),
            actual: actual.map_or_else(|| "nothing".to_owned(), shown),
        }
    }

    pub(in crate::transcript) fn unexpected(at: &Path, actual: &Value) -> Self {
        Self::new(at, "no such field", Some(actual))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, &self.pointer)?;
        write!(formatter, "expected {}, got {}", self.expected, self.actual)
    }
}

fn write_place(formatter: &mut fmt::Formatter<'_>, pointer: &str) -> fmt::Result {
    if pointer.is_empty() {
        return Ok(());
    }
    write!(formatter, "{pointer}: ")
}
