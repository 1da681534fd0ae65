//! Parses tool arguments, and builds results.

use serde::de::DeserializeOwned;
use serde_json::Value;
use zot_protocol::{Content, Object, ToolStatus};

use crate::ToolOutcome;

/// Parses the arguments of a tool. The error is written for the model.
pub(super) fn parse<T: DeserializeOwned>(tool: &str, args: Object) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(args)).map_err(|error| {
        let place = error.path().to_string();
        let error = error.into_inner();
        // For a missing or unknown field, the path is that of the object around it.
        let at = match place.as_str() {
            "." => String::new(),
            place => format!(" at `{place}`"),
        };
        format!(
            "invalid arguments for `{tool}`{at}: {error}\nhint: nothing was done; call it again with correct arguments"
        )
    })
}

pub(super) fn completed(text: impl Into<String>) -> ToolOutcome {
    shown(vec![Content::text(text)])
}

pub(super) fn shown(content: Vec<Content>) -> ToolOutcome {
    ToolOutcome::new(ToolStatus::Completed, content)
}

pub(super) fn failed(why: impl Into<String>) -> ToolOutcome {
    ToolOutcome::error(ToolStatus::Failed, why)
}

/// Formats a number with thousands separators: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its unit: `1 byte`, `1,234 bytes`.
pub(super) fn count(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(count(1, "byte"), "1 byte");
    }
}
