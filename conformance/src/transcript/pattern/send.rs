//! Fills in templates.

use serde_json::{Map, Value};

use super::{PatternError, PatternNode};
use crate::transcript::{Bindings, pointer::Path};

impl PatternNode {
    pub(super) fn fill(&self, at: &Path, bindings: &mut Bindings) -> Result<Value, PatternError> {
        Ok(match self {
            Self::Plain(value) | Self::Literal(value) => value.clone(),
            Self::New(name) => bindings.mint(name).into(),
            Self::Ref(name) => match bindings.get(name) {
                Some(value) => value.clone(),
                None => {
                    let why = format!(
                        "`{name}` is not bound: the frame it is captured from did not arrive"
                    );
                    return Err(PatternError::new(at, why));
                }
            },
            Self::Fill(fill) => match fill.render(bindings.places()) {
                Ok(text) => text.into(),
                Err(place) => {
                    let why = format!("`${{{place}}}` has no value in this run");
                    return Err(PatternError::new(at, why));
                }
            },
            Self::List(nodes) => {
                let mut list = Vec::with_capacity(nodes.len());
                for (index, node) in nodes.iter().enumerate() {
                    list.push(node.fill(&Path::Item(at, index), bindings)?);
                }
                list.into()
            }
            Self::Object { fields, .. } => {
                let mut object = Map::with_capacity(fields.len());
                for (key, node) in fields {
                    let value = node.fill(&Path::Key(at, key), bindings)?;
                    object.insert(key.clone(), value);
                }
                object.into()
            }
            Self::Wildcard(_)
            | Self::Any
            | Self::Type(_)
            | Self::Regex(_)
            | Self::OneOf(_)
            | Self::Absent
            | Self::Contains(_)
            | Self::Schema { .. }
            | Self::Capture { .. } => {
                return Err(PatternError::new(
                    at,
                    "matchers are not allowed in a `send` frame",
                ));
            }
        })
    }
}
