//! The validator's findings in words for the extension's author: where, and what is wrong there.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::{pattern::in_words, schema::escape_pointer};

const DOES_NOT_FIT: &str = "does not fit its schema";
/// Longer values are cut in a message.
const SHOWN_CHARS: usize = 60;

/// The first thing that is wrong with an instance that is not valid: its JSON pointer and the reason.
pub(super) fn first(validator: &Validator, instance: &Value) -> (String, String) {
    // A wrong value says more than a missing one, and the deepest place is the most exact.
    validator
        .iter_errors(instance)
        .map(|error| explain(&error))
        .min_by_key(|(_, reason)| reason == "missing")
        .unwrap_or_else(|| (String::new(), DOES_NOT_FIT.to_owned()))
}

fn explain(error: &ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str().to_owned();
    let shown = || shown(error.instance());
    let reason = match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            return (
                format!("{pointer}/{}", escape_pointer(name)),
                "missing".to_owned(),
            );
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return branch(pointer, error.instance(), context);
        }
        Kind::Type { kind } => format!("{} is not {}", shown(), types(kind)),
        Kind::Constant { expected_value } => format!("{} is not {expected_value}", shown()),
        Kind::Enum { options } => format!("{} is not one of {}", shown(), listed(options)),
        Kind::Pattern { pattern } => match in_words(pattern) {
            Some(words) => format!("{} is not {words}", shown()),
            None => format!("{} does not fit {}", shown(), one_line(pattern)),
        },
        Kind::MinLength { limit: 1 } => "is empty".to_owned(),
        Kind::Minimum { limit } => format!("{} is less than {limit}", shown()),
        Kind::Maximum { limit } => format!("{} is more than {limit}", shown()),
        Kind::AdditionalProperties { unexpected } => format!("unknown: {}", unexpected.join(", ")),
        _ => one_line(&error.masked_with(shown()).to_string()),
    };
    (pointer, reason)
}

/// No branch fits. The one that the sender meant is the one whose tag fits; where no tag does, the tag is what is wrong.
fn branch(
    pointer: String,
    instance: &Value,
    branches: &[Vec<ValidationError<'static>>],
) -> (String, String) {
    for tag in ["type", "event"] {
        let at = format!("{pointer}/{tag}");
        let expected: Vec<_> = branches
            .iter()
            .map(|errors| expected_at(&at, errors))
            .collect();
        let meant = branches
            .iter()
            .zip(&expected)
            .find(|(_, expected)| expected.is_none());
        match (meant, instance.get(tag)) {
            (None, Some(found)) => {
                let expected: Vec<_> = expected
                    .into_iter()
                    .flatten()
                    .map(Value::to_string)
                    .collect();
                return (
                    at,
                    format!("{} is not one of {}", shown(found), expected.join(", ")),
                );
            }
            (Some((errors, _)), _) if expected.iter().any(Option::is_some) => {
                return errors
                    .first()
                    .map_or_else(|| (pointer, DOES_NOT_FIT.to_owned()), explain);
            }
            _ => {}
        }
    }
    // Without tags: `null` is one of two branches then, and never what was meant.
    branches
        .iter()
        .filter_map(|errors| errors.first())
        .find(|error| !matches!(error.kind(), Kind::Type { kind: TypeKind::Single(only) } if only.as_str() == "null"))
        .map_or_else(|| (pointer, DOES_NOT_FIT.to_owned()), explain)
}

/// The constant that a branch wanted at `at`, where it is this that failed.
fn expected_at<'e>(at: &str, errors: &'e [ValidationError<'static>]) -> Option<&'e Value> {
    errors.iter().find_map(|error| match error.kind() {
        Kind::Constant { expected_value } if error.instance_path().as_str() == at => {
            Some(&**expected_value)
        }
        _ => None,
    })
}

/// A value as it stands in a message: compact JSON on one line, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => one_line(&other.to_string()),
    }
}

fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(SHOWN_CHARS)
        .map(|char| if char.is_control() { '\u{fffd}' } else { char })
        .collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line
}

/// `null` is another way to leave something out, not what was expected.
fn types(kind: &TypeKind) -> String {
    let named = |name: &str| match name {
        "array" => "a list",
        "object" => "an object",
        "integer" => "an integer",
        "string" => "a string",
        "boolean" => "true or false",
        "number" => "a number",
        _ => "null",
    };
    match kind {
        TypeKind::Single(only) => named(only.as_str()).to_owned(),
        TypeKind::Multiple(several) => several
            .iter()
            .filter(|one| one.as_str() != "null")
            .map(|one| named(one.as_str()))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn listed(options: &Value) -> String {
    let names = options
        .as_array()
        .into_iter()
        .flatten()
        .filter(|option| !option.is_null());
    names.map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// Takes what a pointer names out of a value; for a place that is missing, what should have held it. `false` when
/// that is the whole value.
pub(super) fn take_out(value: &mut Value, pointer: &str) -> bool {
    let mut pointer = pointer;
    while let Some((parent, last)) = pointer.rsplit_once('/') {
        let key = last.replace("~1", "/").replace("~0", "~");
        match value.pointer_mut(parent) {
            Some(Value::Object(object)) if object.contains_key(&key) => {
                object.shift_remove(&key);
                return true;
            }
            Some(Value::Array(list)) => {
                if let Ok(index) = key.parse::<usize>()
                    && index < list.len()
                {
                    list.remove(index);
                    return true;
                }
            }
            _ => {}
        }
        pointer = parent;
    }
    false
}
