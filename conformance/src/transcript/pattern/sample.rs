//! Generates values that match a pattern, for playing the extension.

use serde_json::{Map, Value, json};

use super::PatternNode;
use crate::{
    arguments::{Arguments, simplest},
    transcript::{Bindings, wildcard::WILDCARD},
};

impl PatternNode {
    /// Returns the simplest matching value and binds its captures; `None` if the value can be left
    /// out or no match was found.
    pub(super) fn sample(&self, bindings: &mut Bindings) -> Option<Value> {
        match self {
            Self::Any | Self::Absent => None,
            Self::Plain(value) | Self::Literal(value) => Some(value.clone()),
            Self::Wildcard(pattern) => Some(pattern.replace(WILDCARD, "").into()),
            Self::Type(name) => Some(simplest(name)),
            Self::Regex(regex) => {
                let schema = json!({"type": "string", "pattern": regex.as_str()});
                Some(smallest(&schema).unwrap_or_else(|| "".into()))
            }
            Self::Schema { source, .. } => smallest(&Value::Object(source.clone())),
            Self::OneOf(nodes) => nodes.iter().find_map(|node| node.sample(bindings)),
            Self::List(nodes) | Self::Contains(nodes) => {
                let items = nodes.iter().map(|node| node.sample(bindings));
                Some(items.map(Option::unwrap_or_default).collect())
            }
            Self::Object { fields, .. } => {
                let mut object = Map::new();
                for (key, node) in fields {
                    if let Some(value) = node.sample(bindings) {
                        object.insert(key.clone(), value);
                    }
                }
                Some(object.into())
            }
            Self::Fill(fill) => fill.render(bindings.places()).ok().map(Value::from),
            Self::Ref(name) => bindings.get(name).cloned(),
            Self::New(name) => Some(bindings.mint(name).into()),
            Self::Capture { name, fits } => {
                let value = fits.as_ref().and_then(|fits| fits.sample(bindings));
                Some(match value {
                    Some(value) => {
                        bindings.bind(name, value.clone());
                        value
                    }
                    None => bindings.mint(name).into(),
                })
            }
        }
    }

    /// Binds what `actual` would capture, even if it does not match.
    pub(super) fn capture(&self, actual: &Value, bindings: &mut Bindings) {
        match (self, actual) {
            (Self::Capture { name, fits }, actual) => {
                if let Some(fits) = fits {
                    fits.capture(actual, bindings);
                }
                bindings.bind(name, actual.clone());
            }
            // When we play the extension, `$new` captures the id that the host sent.
            (Self::New(name), actual) => bindings.bind(name, actual.clone()),
            (Self::Object { fields, .. }, Value::Object(object)) => {
                for (key, node) in fields {
                    if let Some(actual) = object.get(key) {
                        node.capture(actual, bindings);
                    }
                }
            }
            (Self::List(nodes), Value::Array(items)) => {
                for (node, item) in nodes.iter().zip(items) {
                    node.capture(item, bindings);
                }
            }
            _ => {}
        }
    }
}

/// Returns the smallest value that a schema accepts. The generator only produces objects, so the
/// schema is wrapped in one.
fn smallest(schema: &Value) -> Option<Value> {
    let wrapped = json!({"type": "object", "properties": {"value": schema}, "required": ["value"]});
    let arguments = Arguments::of(wrapped.as_object()?).ok()?;
    arguments.minimal().ok()?.remove("value")
}
