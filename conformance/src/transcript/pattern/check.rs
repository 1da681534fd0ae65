//! Matches a value against a pattern.

use serde_json::Value;

use super::{JsonType, Mismatch, PatternNode};
use crate::transcript::{
    Bindings,
    equal::{same, shown, whole},
    pointer::Path,
    wildcard,
};

/// How many alternatives to show when none matches.
const MAX_SHOWN: usize = 4;

impl PatternNode {
    /// May leave captures behind on failure; a caller that tries alternatives must roll them back.
    pub(super) fn check(
        &self,
        actual: Option<&Value>,
        at: &Path,
        bindings: &mut Bindings,
    ) -> Result<(), Mismatch> {
        let Some(actual) = actual else {
            return self.check_absence(at, bindings);
        };
        let fits = match self {
            Self::Plain(expected) | Self::Literal(expected) => return same(expected, actual, at),
            Self::Wildcard(pattern) => {
                matches!(actual, Value::String(text) if wildcard::fits(pattern, text))
            }
            Self::Any => true,
            Self::Type(kind) => kind.fits(actual),
            Self::Regex(regex) => matches!(actual, Value::String(text) if regex.is_match(text)),
            Self::Absent => actual.is_null(),
            Self::Fill(fill) => match fill.render(bindings.places()) {
                Ok(text) => *actual == text,
                Err(_) => false,
            },
            Self::Ref(name) => match bindings.get(name) {
                Some(expected) => return same(expected, actual, at),
                None => false,
            },
            Self::New(name) => {
                bindings.bind(name, actual.clone());
                true
            }
            Self::Capture { name, fits } => {
                if let Some(fits) = fits {
                    fits.check(Some(actual), at, bindings)?;
                }
                bindings.bind(name, actual.clone());
                true
            }
            Self::OneOf(nodes) => return one_of(nodes, Some(actual), at, bindings),
            Self::Contains(nodes) => return self.contains(nodes, actual, at, bindings),
            Self::Schema { checker, .. } => match checker.check(actual) {
                Ok(()) => true,
                Err(mismatch) => {
                    let expected = format!("a value that is valid by its schema ({mismatch})");
                    return Err(Mismatch::new(at, expected, Some(actual)));
                }
            },
            Self::List(nodes) => return self.list(nodes, actual, at, bindings),
            Self::Object { fields, exact } => {
                return self.object(fields, *exact, actual, at, bindings);
            }
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

    fn list(
        &self,
        nodes: &[Self],
        actual: &Value,
        at: &Path,
        bindings: &mut Bindings,
    ) -> Result<(), Mismatch> {
        let Value::Array(items) = actual else {
            return Err(Mismatch::new(at, self.description(), Some(actual)));
        };
        for (index, (node, item)) in nodes.iter().zip(items).enumerate() {
            node.check(Some(item), &Path::Item(at, index), bindings)?;
        }
        if let Some(missing) = nodes.get(items.len()) {
            return Err(Mismatch::new(
                &Path::Item(at, items.len()),
                missing.description(),
                None,
            ));
        }
        match items.get(nodes.len()) {
            Some(more) => Err(Mismatch::new(
                &Path::Item(at, nodes.len()),
                "the end of the array",
                Some(more),
            )),
            None => Ok(()),
        }
    }

    fn object(
        &self,
        fields: &[(String, Self)],
        exact: bool,
        actual: &Value,
        at: &Path,
        bindings: &mut Bindings,
    ) -> Result<(), Mismatch> {
        let Value::Object(object) = actual else {
            return Err(Mismatch::new(at, self.description(), Some(actual)));
        };
        for (key, node) in fields {
            node.check(object.get(key), &Path::Key(at, key), bindings)?;
        }
        let named = |key: &str| fields.iter().any(|(field, _)| field == key);
        match object.iter().find(|(key, _)| exact && !named(key)) {
            Some((key, value)) => Err(Mismatch::unexpected(&Path::Key(at, key), value)),
            None => Ok(()),
        }
    }

    fn contains(
        &self,
        nodes: &[Self],
        actual: &Value,
        at: &Path,
        bindings: &mut Bindings,
    ) -> Result<(), Mismatch> {
        let Value::Array(items) = actual else {
            return Err(Mismatch::new(at, self.description(), Some(actual)));
        };
        for node in nodes {
            let found = items.iter().enumerate().any(|(index, item)| {
                let mark = bindings.mark();
                node.check(Some(item), &Path::Item(at, index), bindings)
                    .inspect_err(|_| bindings.back_to(&mark))
                    .is_ok()
            });
            if !found {
                let expected = format!("an array with {}", node.description());
                return Err(Mismatch::new(at, expected, Some(actual)));
            }
        }
        Ok(())
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
            Self::Type(kind) => format!("a value of type {}", kind.name()),
            Self::Regex(regex) => format!("a string that matches /{regex}/"),
            Self::OneOf(nodes) => format!("one of {} alternatives", nodes.len()),
            Self::Absent => "no such field".to_owned(),
            Self::Contains(_) => "an array".to_owned(),
            Self::Schema { .. } => "a value that is valid by its schema".to_owned(),
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
                bindings.back_to(&mark);
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

impl JsonType {
    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => whole(number).is_some(),
            (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Object, Value::Object(_))
            | (Self::Array, Value::Array(_))
            | (Self::Null, Value::Null) => true,
            _ => false,
        }
    }
}
