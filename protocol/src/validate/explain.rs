//! The validator's findings in words for the extension's author: where, and what is wrong there.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::pattern::in_words;

use super::plain::plain;

const DOES_NOT_FIT: &str = "does not fit its schema";
const NOT_ALLOWED: &str = "is not allowed here";
/// So many of the values that would have been right are named.
const LISTED: usize = 24;
/// Longer values are cut in a message.
const SHOWN_CHARS: usize = 60;

/// The first thing that is wrong with an instance that is not valid: its JSON pointer and the reason. Only the first is
/// looked for: a list of a million wrong items has a million errors.
pub(super) fn first(validator: &Validator, instance: &Value) -> (String, String) {
    match validator.validate(instance) {
        Err(error) => explain(&error),
        Ok(()) => (String::new(), DOES_NOT_FIT.to_owned()),
    }
}

/// Everything that is wrong with an instance, each place once; for what the user has written, not for frames.
pub(super) fn all(validator: &Validator, instance: &Value) -> Vec<(String, String)> {
    let mut wrong: Vec<(String, String)> = validator
        .iter_errors(instance)
        .map(|error| explain(&error))
        .collect();
    wrong.sort();
    wrong.dedup_by(|one, other| one.0 == other.0);
    // From the back, so that taking an item out of a list does not move those still to be taken out.
    wrong.reverse();
    wrong
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
        Kind::AdditionalProperties { unexpected } => {
            let name = unexpected.first().map_or("", String::as_str);
            return (
                format!("{pointer}/{}", escape_pointer(name)),
                NOT_ALLOWED.to_owned(),
            );
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return branch(pointer, error.instance(), context);
        }
        Kind::FalseSchema => NOT_ALLOWED.to_owned(),
        Kind::Type { kind } => format!("{} is not {}", shown(), types(kind)),
        Kind::Constant { expected_value } => {
            format!("{} is not {}", shown(), self::shown(expected_value))
        }
        Kind::Enum { options } => format!("{} is not one of {}", shown(), listed(options)),
        Kind::Pattern { pattern } => match in_words(pattern) {
            Some(words) => format!("{} is not {words}", shown()),
            None => format!(
                "{} does not fit the pattern {}",
                shown(),
                plain(pattern, SHOWN_CHARS)
            ),
        },
        Kind::MinLength { limit: 1 } => "is empty".to_owned(),
        Kind::MinLength { limit } => format!("{} has fewer than {limit} characters", shown()),
        Kind::MaxLength { limit } => format!("{} has more than {limit} characters", shown()),
        Kind::MinItems { limit } => format!("has fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("has more than {limit} items"),
        Kind::UniqueItems => "has an item twice".to_owned(),
        Kind::Minimum { limit } => format!("{} is less than {limit}", shown()),
        Kind::Maximum { limit } => format!("{} is more than {limit}", shown()),
        Kind::ExclusiveMinimum { limit } => format!("{} is not more than {limit}", shown()),
        Kind::ExclusiveMaximum { limit } => format!("{} is not less than {limit}", shown()),
        other => format!("{} does not fit its schema ({})", shown(), other.keyword()),
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
        // Encoding a text of megabytes to show the start of it would be a waste.
        Value::String(text) if text.len() > 4 * SHOWN_CHARS => {
            let start: String = text.chars().take(SHOWN_CHARS).collect();
            plain(&Value::String(start).to_string(), SHOWN_CHARS)
        }
        other => plain(&other.to_string(), SHOWN_CHARS),
    }
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
    let names: Vec<&Value> = options
        .as_array()
        .into_iter()
        .flatten()
        .filter(|option| !option.is_null())
        .collect();
    let mut list: Vec<String> = names.iter().take(LISTED).map(|name| shown(name)).collect();
    if names.len() > LISTED {
        list.push(format!("… ({} in all)", names.len()));
    }
    list.join(", ")
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

/// One key as a part of a JSON pointer.
pub(super) fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
