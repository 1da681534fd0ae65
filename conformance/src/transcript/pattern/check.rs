//! Matches a value against a pattern.

use serde_json::Value;

use super::{Mismatch, PatternNode};
use crate::transcript::{
    Bindings,
    equal::{same, shown, whole},
    pointer::Path,
    wildcard,
};

/// How many alternatives to show when none matches.
const MAX_SHOWN: usize = 4;

impl PatternNode {
    /// Matches a value. On failure, some captures may remain bound; a caller that tries
    /// alternatives must roll them back.
    pub(super) fn check(
        &self,
        actual: Option<&Value>,
        at: &Path,
        bindings: &mut Bindings,
    ) -> Result<(), Mismatch> {
        let Some(actual) = actual else {
            return self.check_absence(at, bindings);
        };
        let fits = match (self, actual) {
            (Self::Plain(expected) | Self::Literal(expected), _) => {
                return same(expected, actual, at);
            }
            (Self::Wildcard(pattern), Value::String(text)) => wildcard::fits(pattern, text),
            (Self::Any, _) => true,
            (Self::Type(name), _) => is_type(name, actual),
            (Self::Regex(regex), Value::String(text)) => regex.is_match(text),
            (Self::Absent, _) => actual.is_null(),
            (Self::Fill(fill), _) => match fill.render(bindings.places()) {
                Ok(text) => *actual == text,
                Err(_) => false,
            },
            (Self::Ref(name), _) => match bindings.get(name) {
                Some(expected) => return same(expected, actual, at),
                None => false,
            },
            (Self::New(name), _) => {
                bindings.bind(name, actual.clone());
                true
            }
            (Self::Capture { name, fits }, _) => {
                if let Some(fits) = fits {
                    fits.check(Some(actual), at, bindings)?;
                }
                bindings.bind(name, actual.clone());
                true
            }
            (Self::OneOf(nodes), _) => return one_of(nodes, Some(actual), at, bindings),
            (Self::Contains(nodes), Value::Array(items)) => {
                match nodes.iter().find(|node| !node.is_in(items, at, bindings)) {
                    None => true,
                    Some(node) => {
                        let expected = format!("an array with {}", node.description());
                        return Err(Mismatch::new(at, expected, Some(actual)));
                    }
                }
            }
            (Self::Schema { checker, .. }, _) => match checker.check(actual) {
                Ok(()) => true,
                Err(mismatch) => {
                    let expected =
                        format!("a value that matches the `$schema` pattern ({mismatch})");
                    return Err(Mismatch::new(at, expected, Some(actual)));
                }
            },
            (Self::List(nodes), Value::Array(items)) => return list(nodes, items, at, bindings),
            (Self::Object { fields, exact }, Value::Object(object)) => {
                for (key, node) in fields {
                    node.check(object.get(key), &Path::Key(at, key), bindings)?;
                }
                let named = |key: &str| fields.iter().any(|(field, _)| field == key);
                match object.iter().find(|(key, _)| *exact && !named(key)) {
                    Some((key, value)) => {
                        return Err(Mismatch::unexpected(&Path::Key(at, key), value));
                    }
                    None => true,
                }
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Mismatch::new(at, self.description(), Some(actual)))
    }

    fn check_absence(&self, at: &Path, bindings: &mut Bindings) -> Result<(), Mismatch> {
        match self {
            Self::Absent => Ok(()),
            Self::OneOf(nodes) => one_of(nodes, None, at, bindings),
            _ => Err(Mismatch::new(at, self.description(), None)),
        }
    }

    /// Reports whether one of the items matches. Only its captures are kept.
    fn is_in(&self, items: &[Value], at: &Path, bindings: &mut Bindings) -> bool {
        items.iter().enumerate().any(|(index, item)| {
            let mark = bindings.mark();
            self.check(Some(item), &Path::Item(at, index), bindings)
                .inspect_err(|_| bindings.back_to(mark))
                .is_ok()
        })
    }

    /// Describes the expected value for a message.
    fn description(&self) -> String {
        match self {
            Self::Plain(value) | Self::Literal(value) => shown(value),
            Self::Wildcard(pattern) => shown(&pattern.as_str().into()),
            Self::List(nodes) => format!("an array of length {}", nodes.len()),
            Self::Object { fields, .. } => match fields.first() {
                Some((key, node)) => format!("an object with `{key}`: {}", node.description()),
                None => "an object".to_owned(),
            },
            Self::Any => "anything".to_owned(),
            Self::Type(name) => format!("a value of type {name}"),
            Self::Regex(regex) => format!("a string that matches /{regex}/"),
            Self::OneOf(nodes) => format!("one of {} alternatives", nodes.len()),
            Self::Absent => "no such field".to_owned(),
            Self::Contains(_) => "an array".to_owned(),
            Self::Schema { .. } => "a value that matches the `$schema` pattern".to_owned(),
            Self::Fill(fill) => format!("{:?}", fill.to_string()),
            Self::New(name) => format!("the new `{name}`"),
            Self::Ref(name) => format!("the value of `{name}`"),
            Self::Capture { name, .. } => format!("a value for `{name}`"),
        }
    }
}

fn one_of(
    nodes: &[PatternNode],
    actual: Option<&Value>,
    at: &Path,
    bindings: &mut Bindings,
) -> Result<(), Mismatch> {
    let mut shown = Vec::new();
    for node in nodes {
        let mark = bindings.mark();
        match node.check(actual, at, bindings) {
            Ok(()) => return Ok(()),
            Err(mismatch) => {
                bindings.back_to(mark);
                if shown.len() < MAX_SHOWN {
                    let within = &mismatch.pointer[at.to_string().len()..];
                    let place = if within.is_empty() { "" } else { " at " };
                    shown.push(format!("{}{place}{within}", mismatch.expected));
                }
            }
        }
    }
    if nodes.len() > MAX_SHOWN {
        shown.push("…".to_owned());
    }
    Err(Mismatch::new(at, shown.join(" or "), actual))
}

fn list(
    nodes: &[PatternNode],
    items: &[Value],
    at: &Path,
    bindings: &mut Bindings,
) -> Result<(), Mismatch> {
    for (index, (node, item)) in nodes.iter().zip(items).enumerate() {
        node.check(Some(item), &Path::Item(at, index), bindings)?;
    }
    let end = &Path::Item(at, nodes.len().min(items.len()));
    match (nodes.get(items.len()), items.get(nodes.len())) {
        (Some(missing), _) => Err(Mismatch::new(end, missing.description(), None)),
        (None, Some(more)) => Err(Mismatch::new(end, "the end of the array", Some(more))),
        (None, None) => Ok(()),
    }
}

/// Reports whether a value has a JSON type. `1.0` is an integer.
fn is_type(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && whole(number).is_some()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
