//! Turns validation errors into messages for extension authors: where the error is and what is
//! wrong.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as ErrorKind},
};
use serde_json::Value;

use crate::pattern::describe;

use super::plain::plain;

const DOES_NOT_MATCH: &str = "does not match its schema";
const NOT_ALLOWED: &str = "is not allowed here";
/// Maximum number of expected values in a message.
const MAX_LISTED: usize = 24;
/// Maximum length of a value in a message, in characters.
const SHOWN_CHARS: usize = 60;

/// Returns the JSON pointer of the first error in an invalid instance, and the reason. It does not
/// collect all errors, because a list of a million invalid items has a million errors.
pub(super) fn first(validator: &Validator, instance: &Value) -> (String, String) {
    match validator.validate(instance) {
        Err(error) => explain(&error),
        Ok(()) => (String::new(), DOES_NOT_MATCH.to_owned()),
    }
}

/// Returns all errors in an instance, at most one per location. Use it for the user's own files,
/// not for frames.
pub(super) fn all(validator: &Validator, instance: &Value) -> Vec<(String, String)> {
    let mut wrong: Vec<(String, String)> = validator
        .iter_errors(instance)
        .map(|error| explain(&error))
        .collect();
    wrong.sort_by_cached_key(|(pointer, reason)| (in_order(pointer), reason.clone()));
    wrong.dedup_by(|one, other| one.0 == other.0);
    // In reverse order, so that removing a list item does not shift the items still to be removed.
    wrong.reverse();
    wrong
}

/// Returns a key that sorts pointers, with list items in the order of their indices.
fn in_order(pointer: &str) -> Vec<(usize, String)> {
    let parts = pointer.split('/');
    let key = |part: &str| (part.parse().unwrap_or(usize::MAX), part.to_owned());
    parts.map(key).collect()
}

fn explain(error: &ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str().to_owned();
    let shown = || shown(error.instance());
    let reason = match error.kind() {
        ErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            return (
                format!("{pointer}/{}", escape_pointer(name)),
                "missing".to_owned(),
            );
        }
        ErrorKind::AdditionalProperties { unexpected } => {
            let name = unexpected.first().map_or("", String::as_str);
            return (
                format!("{pointer}/{}", escape_pointer(name)),
                NOT_ALLOWED.to_owned(),
            );
        }
        ErrorKind::AnyOf { context } | ErrorKind::OneOfNotValid { context } => {
            return branch(pointer, error.instance(), context);
        }
        ErrorKind::FalseSchema => NOT_ALLOWED.to_owned(),
        ErrorKind::Type { kind } => format!("{} is not {}", shown(), types(kind)),
        ErrorKind::Constant { expected_value } => {
            format!("{} is not {}", shown(), self::shown(expected_value))
        }
        ErrorKind::Enum { options } => format!("{} is not one of {}", shown(), listed(options)),
        ErrorKind::Pattern { pattern } => match describe(pattern) {
            Some(words) => format!("{} is not {words}", shown()),
            None => format!(
                "{} does not match the pattern {}",
                shown(),
                plain(pattern, SHOWN_CHARS)
            ),
        },
        ErrorKind::MinLength { limit: 1 } | ErrorKind::MinItems { limit: 1 } => {
            "is empty".to_owned()
        }
        ErrorKind::MinLength { limit } => format!("{} has fewer than {limit} characters", shown()),
        ErrorKind::MaxLength { limit } => format!("{} has more than {limit} characters", shown()),
        ErrorKind::MinItems { limit } => format!("has fewer than {limit} items"),
        ErrorKind::MaxItems { limit: 1 } => "has more than 1 item".to_owned(),
        ErrorKind::MaxItems { limit } => format!("has more than {limit} items"),
        ErrorKind::UniqueItems => "has duplicate items".to_owned(),
        ErrorKind::Minimum { limit } => format!("{} is less than {limit}", shown()),
        ErrorKind::Maximum { limit } => format!("{} is more than {limit}", shown()),
        ErrorKind::ExclusiveMinimum { limit } => format!("{} is not more than {limit}", shown()),
        ErrorKind::ExclusiveMaximum { limit } => format!("{} is not less than {limit}", shown()),
        other => format!(
            "{} does not match its schema ({})",
            shown(),
            other.keyword()
        ),
    };
    (pointer, reason)
}

/// Explains why no branch matches. The branch with a matching tag is the one that the sender meant.
/// If no tag matches, the tag is wrong.
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
                    .map_or_else(|| (pointer, DOES_NOT_MATCH.to_owned()), explain);
            }
            _ => {}
        }
    }
    // If no branch has a tag, the value is optional: one branch is `null`, the other is the
    // intended type.
    branches
        .iter()
        .filter_map(|errors| errors.first())
        .find(|error| !matches!(error.kind(), ErrorKind::Type { kind: TypeKind::Single(only) } if only.as_str() == "null"))
        .map_or_else(|| (pointer, DOES_NOT_MATCH.to_owned()), explain)
}

/// Returns the constant that a branch expected at `at`. Returns `None` if the branch failed for
/// another reason.
fn expected_at<'e>(at: &str, errors: &'e [ValidationError<'static>]) -> Option<&'e Value> {
    errors.iter().find_map(|error| match error.kind() {
        ErrorKind::Constant { expected_value } if error.instance_path().as_str() == at => {
            Some(&**expected_value)
        }
        _ => None,
    })
}

/// Formats a value for a message: compact JSON on one line, truncated if it is long.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        // Do not encode megabytes of text only to show the start of it.
        Value::String(text) if text.len() > 4 * SHOWN_CHARS => {
            let start: String = text.chars().take(SHOWN_CHARS).collect();
            plain(&Value::String(start).to_string(), SHOWN_CHARS)
        }
        other => plain(&other.to_string(), SHOWN_CHARS),
    }
}

/// Lists the expected types. `null` is left out, because it only means that the field is absent.
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
    let mut list: Vec<String> = names
        .iter()
        .take(MAX_LISTED)
        .map(|name| shown(name))
        .collect();
    if names.len() > MAX_LISTED {
        list.push(format!("… ({} in total)", names.len()));
    }
    list.join(", ")
}

/// Removes the value at `pointer`. If it does not exist, removes the closest parent that does.
/// Returns `false` if that is the whole value.
pub(super) fn remove_at(value: &mut Value, pointer: &str) -> bool {
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

/// Escapes a key for use in a JSON pointer.
pub(super) fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
