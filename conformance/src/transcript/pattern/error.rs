//! What can be wrong with a pattern, with a value, and with what is to be sent.

use std::fmt;

use serde_json::Value;

use crate::transcript::{equal::shown, pointer::Path};

/// A pattern that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PatternError {
    /// Where, as a JSON pointer; `""` is the whole.
    pub pointer: String,
    /// Why, in one line.
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

/// A value that is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Where, as a JSON pointer; `""` is the whole.
    pub pointer: String,
    /// What was expected there: JSON cut to a readable length, or words.
    pub expected: String,
    /// What was there instead, likewise.
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

/// A frame that cannot be sent, since something in it is not known in this run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FillError {
    /// Where, as a JSON pointer; `""` is the whole.
    pub pointer: String,
    /// Why, in one line.
    pub why: String,
}

impl FillError {
    pub(super) fn new(at: &Path, why: impl Into<String>) -> Self {
        Self {
            pointer: at.to_string(),
            why: why.into(),
        }
    }
}

impl fmt::Display for FillError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, &self.pointer)?;
        formatter.write_str(&self.why)
    }
}

fn write_place(formatter: &mut fmt::Formatter<'_>, pointer: &str) -> fmt::Result {
    if pointer.is_empty() {
        return Ok(());
    }
    write!(formatter, "{pointer}: ")
}
