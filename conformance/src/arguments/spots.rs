//! The places of a schema, each inside arguments that fit and have that place: where one thing is varied at a time.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    arrays,
    maker::Maker,
    objects,
    place::{Alternative, Node, alternatives, escape},
};

/// Places beyond this many, and deeper than this, are not varied.
const SPOTS: usize = 120;
const DEEPEST: usize = 6;
/// All bases together are not larger than this, in bytes: each is a copy of the arguments.
const BASES_BYTES: usize = 8 * 1024 * 1024;

/// One step from a value into it.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// A place with a value in it.
#[derive(Debug, Clone)]
pub(super) struct Spot<'s> {
    /// Where, as a JSON pointer into the arguments.
    pub(super) pointer: String,
    pub(super) path: Vec<Step>,
    pub(super) way: Alternative<'s>,
    /// All of the arguments, the place included.
    pub(super) base: Value,
    /// What is in the place.
    pub(super) value: Value,
    /// Whether it had to be added to the smallest arguments.
    pub(super) added: bool,
}

impl Spot<'_> {
    /// The arguments with another value in this place.
    pub(super) fn with(&self, value: Value) -> Value {
        put(self.base.clone(), &self.path, value)
    }

    /// The schemas of this place.
    pub(super) fn leaves(&self) -> &[Node<'_>] {
        &self.way.leaves
    }
}

struct Waiting<'s> {
    place: Vec<Node<'s>>,
    path: Vec<Step>,
    base: Value,
    value: Value,
    added: bool,
}

/// The places of a schema, those further up first.
pub(super) fn spots<'s>(
    maker: &mut Maker<'s>,
    root: Vec<Node<'s>>,
    minimal: Value,
) -> Vec<Spot<'s>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut waiting = VecDeque::from([Waiting {
        place: root,
        path: Vec::new(),
        base: minimal.clone(),
        value: minimal,
        added: false,
    }]);
    while let Some(next) = waiting.pop_front() {
        let ways = alternatives(maker.root, &next.place);
        let several = ways.len() > 1;
        for mut way in ways {
            bytes += next.base.to_string().len();
            if found.len() >= SPOTS || bytes > BASES_BYTES {
                return found;
            }
            let mut value = next.value.clone();
            let mut base = next.base.clone();
            if several {
                maker.refuel();
                let Ok(made) = maker.smallest_of(&way, &next.place) else {
                    continue;
                };
                base = put(base, &next.path, made.clone());
                value = made;
            } else {
                way.taken.clear();
            }
            let spot = Spot {
                pointer: pointer(&next.path),
                path: next.path.clone(),
                way,
                base,
                value,
                added: next.added,
            };
            if next.path.len() < DEEPEST {
                waiting.extend(below(maker, &spot));
            }
            found.push(spot);
        }
    }
    found
}

/// The places directly below one.
fn below<'s>(maker: &mut Maker<'s>, spot: &Spot<'s>) -> Vec<Waiting<'s>> {
    let leaves = &spot.way.leaves;
    let mut steps = Vec::new();
    match &spot.value {
        Value::Object(object) => {
            for name in objects::declared(leaves) {
                let place = objects::property(leaves, name);
                steps.push((Step::Key(name.to_owned()), place, object.get(name)));
            }
            // Of the others, those that had to be made up.
            for (name, value) in object {
                if !steps
                    .iter()
                    .any(|(step, ..)| matches!(step, Step::Key(key) if key == name))
                {
                    let place = objects::property(leaves, name);
                    steps.push((Step::Key(name.clone()), place, Some(value)));
                }
            }
        }
        Value::Array(list) => {
            let prefix = leaves
                .iter()
                .map(|leaf| leaf.listed("prefixItems").len())
                .max();
            for index in 0..list.len().max(prefix.unwrap_or(0)).clamp(1, 4) {
                // A list has no holes: an item that is not there can only be the next one.
                if index <= list.len() {
                    steps.push((
                        Step::Index(index),
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
        maker.refuel();
        let made = match there {
            Some(value) => Ok(value.clone()),
            None => maker.smallest(&place),
        };
        let Ok(value) = made else { continue };
        let mut path = spot.path.clone();
        path.push(step);
        found.push(Waiting {
            place,
            base: put(spot.base.clone(), &path, value.clone()),
            path,
            added: there.is_none(),
            value,
        });
    }
    found
}

/// Puts a value into a place, which may be the next one of a list or a new one of an object.
fn put(mut whole: Value, path: &[Step], value: Value) -> Value {
    let mut at = &mut whole;
    for step in path {
        at = match (step, at) {
            (Step::Key(key), Value::Object(object)) => {
                object.entry(key.as_str()).or_insert(Value::Null)
            }
            (Step::Index(index), Value::Array(list)) => {
                let index = (*index).min(list.len());
                if index == list.len() {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            // The path was made for this value; where it is not there, the value itself is what is replaced.
            (_, other) => other,
        };
    }
    *at = value;
    whole
}

fn pointer(path: &[Step]) -> String {
    path.iter()
        .map(|step| match step {
            Step::Key(key) => format!("/{}", escape(key)),
            Step::Index(index) => format!("/{index}"),
        })
        .collect()
}
