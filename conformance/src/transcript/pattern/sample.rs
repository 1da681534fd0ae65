//! A value that fits what is expected, for whoever has to say it.

use serde_json::{Map, Value, json};

use super::{Kind, Node};
use crate::{
    arguments::Arguments,
    transcript::{Bindings, wildcard::WILDCARD},
};

impl Node {
    /// The plainest value that fits; `None` where anything does, nothing included. What it captures is bound.
    pub(super) fn sample(&self, bindings: &mut Bindings) -> Option<Value> {
        match self {
            Self::Any | Self::Absent => None,
            Self::Plain(value) | Self::Literal(value) => Some(value.clone()),
            Self::Wildcard(pattern) => Some(pattern.replace(WILDCARD, "").into()),
            Self::Type(kind) => Some(kind.sample()),
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

    /// Binds what would be captured if `actual` fitted, where there is something to capture.
    pub(super) fn capture(&self, actual: &Value, bindings: &mut Bindings) {
        match (self, actual) {
            (Self::Capture { name, fits }, actual) => {
                if let Some(fits) = fits {
                    fits.capture(actual, bindings);
                }
                bindings.bind(name, actual.clone());
            }
            // Seen from the other end, where the host has minted it.
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

impl Kind {
    fn sample(self) -> Value {
        match self {
            Self::String => "".into(),
            Self::Number | Self::Integer => 0.into(),
            Self::Boolean => false.into(),
            Self::Object => json!({}),
            Self::Array => json!([]),
            Self::Null => Value::Null,
        }
    }
}

/// The smallest value that a schema accepts. What makes arguments makes objects, so it is put into one.
fn smallest(schema: &Value) -> Option<Value> {
    let wrapped = json!({"type": "object", "properties": {"value": schema}, "required": ["value"]});
    let arguments = Arguments::of(wrapped.as_object()?).ok()?;
    arguments.minimal().ok()?.remove("value")
}
