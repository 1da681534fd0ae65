//! What is sent, with everything filled in.

use serde_json::{Map, Value};

use super::{FillError, Node};
use crate::transcript::{Bindings, pointer::Path};

impl Node {
    pub(super) fn fill(&self, at: &Path, bindings: &mut Bindings) -> Result<Value, FillError> {
        Ok(match self {
            Self::Plain(value) | Self::Literal(value) => value.clone(),
            Self::New(name) => bindings.mint(name).into(),
            Self::Ref(name) => match bindings.get(name) {
                Some(value) => value.clone(),
                None => {
                    let why = format!("`{name}` has no value: what it is taken from did not come");
                    return Err(FillError::new(at, why));
                }
            },
            Self::Fill(fill) => match fill.render(bindings.places()) {
                Ok(text) => text.into(),
                Err(place) => {
                    let why = format!("`${{{place}}}` is not known in this run");
                    return Err(FillError::new(at, why));
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
            | Self::Schema(_)
            | Self::Capture { .. } => return Err(FillError::new(at, "a matcher cannot be sent")),
        })
    }
}
