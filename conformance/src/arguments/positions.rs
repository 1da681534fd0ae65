//! The positions in a schema, each with valid arguments that contain it, so that one value can be
//! varied at a time.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    arrays,
    generator::Generator,
    objects,
    place::{Alternative, SchemaNode, alternatives, escape},
};

/// Maximum number of positions to vary.
const POSITIONS: usize = 120;

/// Maximum depth of a position to vary.
const DEEPEST: usize = 6;
/// Maximum total size of all bases, in bytes. Each base is a copy of the arguments.
const BASES_BYTES: usize = 8 * 1024 * 1024;

/// One step of a path into a value.
#[derive(Debug, Clone)]
pub(super) enum PathStep {
    Key(String),
    Index(usize),
}

/// A position in the arguments and the value there.
#[derive(Debug, Clone)]
pub(super) struct Position<'s> {
    /// JSON pointer into the arguments.
    pub(super) pointer: String,
    pub(super) path: Vec<PathStep>,
    pub(super) way: Alternative<'s>,
    /// The complete arguments, including this position.
    pub(super) base: Value,
    /// The value at this position.
    pub(super) value: Value,
    /// Whether the position had to be added to the smallest arguments.
    pub(super) added: bool,
}

impl Position<'_> {
    /// Returns the arguments with another value at this position.
    pub(super) fn with(&self, value: Value) -> Value {
        put(self.base.clone(), &self.path, value)
    }

    /// Returns the schemas of this position.
    pub(super) fn leaves(&self) -> &[SchemaNode<'_>] {
        &self.way.leaves
    }
}

struct Pending<'s> {
    place: Vec<SchemaNode<'s>>,
    path: Vec<PathStep>,
    base: Value,
    value: Value,
    added: bool,
}

/// Returns the positions in a schema, breadth first.
pub(super) fn positions<'s>(
    generator: &mut Generator<'s>,
    root: Vec<SchemaNode<'s>>,
    minimal: Value,
) -> Vec<Position<'s>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut pending = VecDeque::from([Pending {
        place: root,
        path: Vec::new(),
        base: minimal.clone(),
        value: minimal,
        added: false,
    }]);
    while let Some(next) = pending.pop_front() {
        let ways = alternatives(generator.root, &next.place);
        let several = ways.len() > 1;
        for mut way in ways {
            bytes += next.base.to_string().len();
            if found.len() >= POSITIONS || bytes > BASES_BYTES {
                return found;
            }
            let mut value = next.value.clone();
            let mut base = next.base.clone();
            if several {
                generator.refuel();
                let Ok(made) = generator.smallest_of(&way, &next.place) else {
                    continue;
                };
                base = put(base, &next.path, made.clone());
                value = made;
            } else {
                way.taken.clear();
            }
            let position = Position {
                pointer: pointer(&next.path),
                path: next.path.clone(),
                way,
                base,
                value,
                added: next.added,
            };
            if next.path.len() < DEEPEST {
                pending.extend(below(generator, &position));
            }
            found.push(position);
        }
    }
    found
}

/// Returns the positions directly below a position.
fn below<'s>(generator: &mut Generator<'s>, position: &Position<'s>) -> Vec<Pending<'s>> {
    let leaves = &position.way.leaves;
    let mut steps = Vec::new();
    match &position.value {
        Value::Object(object) => {
            for name in objects::declared(leaves) {
                let place = objects::property(leaves, name);
                steps.push((PathStep::Key(name.to_owned()), place, object.get(name)));
            }
            // Undeclared properties that the generator had to add.
            for (name, value) in object {
                if !steps
                    .iter()
                    .any(|(step, ..)| matches!(step, PathStep::Key(key) if key == name))
                {
                    let place = objects::property(leaves, name);
                    steps.push((PathStep::Key(name.clone()), place, Some(value)));
                }
            }
        }
        Value::Array(list) => {
            let prefix = leaves
                .iter()
                .map(|leaf| leaf.listed("prefixItems").len())
                .max();
            for index in 0..list.len().max(prefix.unwrap_or(0)).clamp(1, 4) {
                // Arrays have no holes, so a missing item can only be the next one.
                if index <= list.len() {
                    steps.push((
                        PathStep::Index(index),
                        arrays::item(leaves, index),
                        list.get(index),
                    ));
                }
            }
        }
        _ => {}
    }
    let mut found = Vec::new();
    for (step, place, there) in steps {
        generator.refuel();
        let made = match there {
            Some(value) => Ok(value.clone()),
            None => generator.smallest(&place),
        };
        let Ok(value) = made else { continue };
        let mut path = position.path.clone();
        path.push(step);
        found.push(Pending {
            place,
            base: put(position.base.clone(), &path, value.clone()),
            path,
            added: there.is_none(),
            value,
        });
    }
    found
}

/// Puts a value at a path, appending to an array or adding to an object if necessary.
fn put(mut whole: Value, path: &[PathStep], value: Value) -> Value {
    let mut at = &mut whole;
    for step in path {
        at = match (step, at) {
            (PathStep::Key(key), Value::Object(object)) => {
                object.entry(key.as_str()).or_insert(Value::Null)
            }
            (PathStep::Index(index), Value::Array(list)) => {
                let index = (*index).min(list.len());
                if index == list.len() {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            // Ignore a step that does not fit. This should not happen, because the path was created
            // for this value.
            (_, other) => other,
        };
    }
    *at = value;
    whole
}

fn pointer(path: &[PathStep]) -> String {
    path.iter()
        .map(|step| match step {
            PathStep::Key(key) => format!("/{}", escape(key)),
            PathStep::Index(index) => format!("/{index}"),
        })
        .collect()
}
