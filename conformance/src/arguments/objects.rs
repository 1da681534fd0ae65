//! Objects: the properties that must be there, and those that may.

use std::collections::HashSet;

use regex::Regex;
use serde_json::Value;
use zot_protocol::Object;

use super::{
    Unsatisfied,
    dice::Dice,
    maker::Maker,
    patterns::{Taste, fitting},
    place::{Node, largest, smallest},
};

/// An object that must have more properties is not made.
const MOST: usize = 2_000;

/// The schemas of a property: those that name it, those whose pattern does, and else what is said of all others.
pub(super) fn property<'s>(leaves: &[Node<'s>], name: &str) -> Vec<Node<'s>> {
    let mut place = Vec::new();
    for leaf in leaves {
        let named = leaf.named("properties", name);
        let patterns = leaf.get("patternProperties").and_then(Value::as_object);
        let fitting = patterns
            .into_iter()
            .flat_map(Object::keys)
            .filter(|pattern| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(name)))
            .filter_map(|pattern| leaf.named("patternProperties", pattern));
        let before = place.len();
        place.extend(named);
        place.extend(fitting);
        if place.len() == before {
            place.extend(leaf.below("additionalProperties"));
        }
    }
    place
}

/// The names under `properties`, in the order in which they are written.
pub(super) fn declared<'s>(leaves: &[Node<'s>]) -> Vec<&'s str> {
    let mut seen = HashSet::new();
    leaves
        .iter()
        .filter_map(|leaf| leaf.get("properties")?.as_object())
        .flat_map(Object::keys)
        .map(String::as_str)
        .filter(|name| seen.insert(*name))
        .collect()
}

/// The names that must be there, those included that others bring with them.
pub(super) fn required<'s>(leaves: &[Node<'s>]) -> Vec<&'s str> {
    let mut names: Vec<&'s str> = Vec::new();
    let mut seen = HashSet::new();
    let texts = |list: Option<&'s Value>| {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str)
    };
    for leaf in leaves {
        names.extend(texts(leaf.get("required")).filter(|name| seen.insert(*name)));
    }
    let mut next = 0;
    while let Some(name) = names.get(next).copied() {
        for (leaf, keyword) in leaves
            .iter()
            .flat_map(|leaf| [(leaf, "dependentRequired"), (leaf, "dependencies")])
        {
            let brought = leaf.get(keyword).and_then(|by_name| by_name.get(name));
            names.extend(texts(brought).filter(|name| seen.insert(*name)));
        }
        next += 1;
    }
    names
}

/// Objects that fit, or nearly: each is checked by who asked for it.
pub(super) fn objects<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
    depth: usize,
) -> Result<Vec<Value>, Unsatisfied> {
    let least = largest(leaves, "minProperties");
    let low = least.map_or(0, |(count, _)| count);
    let most = smallest(leaves, "maxProperties");
    let high = most.map_or(usize::MAX, |(count, _)| count);
    if let Some((_, node)) = least
        && low > MOST
    {
        return Err(Unsatisfied::at(node, "minProperties"));
    }
    let leaves = &with_dependents(leaves);
    let mut object = Object::new();
    for name in required(leaves) {
        let made = maker.make(&property(leaves, name), depth + 1)?;
        object.insert(name.to_owned(), made);
    }
    if let Some((_, node)) = most
        && object.len().max(low) > high
    {
        return Err(Unsatisfied::at(node, "maxProperties"));
    }
    for name in declared(leaves) {
        let wanted = object.len() < low
            || maker
                .dice
                .as_mut()
                .is_some_and(|dice| object.len() < high && dice.once_in(2));
        if !wanted || object.contains_key(name) {
            continue;
        }
        // One that cannot be there is optional for a reason.
        if let Ok(made) = maker.make(&property(leaves, name), depth + 1) {
            object.insert(name.to_owned(), made);
        }
    }
    let extra = maker.dice.as_mut().map_or(0, |dice| {
        usize::from(has_open_names(leaves) && dice.once_in(2))
    });
    let wanted = low.max((object.len() + extra).min(high));
    invent(maker, leaves, depth, wanted, &mut object);
    match least {
        Some((_, node)) if object.len() < low => Err(Unsatisfied::at(node, "minProperties")),
        _ => Ok(vec![Value::Object(in_order(leaves, object))]),
    }
}

/// Adds what is asked for once a property is there that must be.
fn with_dependents<'s>(leaves: &[Node<'s>]) -> Vec<Node<'s>> {
    let mut all = leaves.to_vec();
    for name in required(leaves) {
        for keyword in ["dependentSchemas", "dependencies"] {
            all.extend(
                leaves
                    .iter()
                    .filter_map(|leaf| leaf.named(keyword, name))
                    .filter(|node| node.schema.is_object()),
            );
        }
    }
    all
}

/// Whether the schema speaks about names that it does not list.
fn has_open_names(leaves: &[Node<'_>]) -> bool {
    leaves.iter().any(|leaf| {
        leaf.get("patternProperties").is_some()
            || leaf
                .get("additionalProperties")
                .is_some_and(Value::is_object)
    })
}

/// Adds properties of invented names until there are as many as are wanted.
fn invent<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
    depth: usize,
    wanted: usize,
    object: &mut Object,
) {
    // Names for which nothing can be made are given up after a while.
    let attempts = (wanted.saturating_sub(object.len())).saturating_mul(2) + 4;
    for attempt in 0..attempts {
        if object.len() >= wanted {
            return;
        }
        for name in names(maker, leaves, depth, attempt) {
            if object.len() >= wanted || object.contains_key(&name) {
                continue;
            }
            if let Ok(made) = maker.make(&property(leaves, &name), depth + 1) {
                object.insert(name, made);
            }
        }
    }
}

fn names<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
    depth: usize,
    attempt: usize,
) -> Vec<String> {
    let rules: Vec<_> = leaves
        .iter()
        .filter_map(|leaf| leaf.below("propertyNames"))
        .collect();
    if !rules.is_empty() {
        let dice = maker.dice.take();
        maker.dice = (attempt > 0).then(|| Dice::new(attempt as u64));
        let name = maker.make(&rules, depth + 1);
        maker.dice = dice;
        return name
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .into_iter()
            .collect();
    }
    let patterns = leaves
        .iter()
        .filter_map(|leaf| leaf.get("patternProperties")?.as_object())
        .flat_map(Object::keys);
    let more = u32::try_from(attempt).unwrap_or(0);
    let mut names: Vec<String> = patterns
        .filter_map(|pattern| match attempt {
            0 => fitting(pattern, Taste::Short { more }),
            _ => fitting(pattern, Taste::Any(&mut Dice::new(attempt as u64))),
        })
        .collect();
    names.push(format!("x{}", attempt + 1));
    names
}

/// Properties in the order of the schema: as its author would write them.
fn in_order(leaves: &[Node<'_>], mut object: Object) -> Object {
    let mut ordered = Object::new();
    for name in declared(leaves) {
        if let Some(value) = object.shift_remove(name) {
            ordered.insert(name.to_owned(), value);
        }
    }
    ordered.extend(object);
    ordered
}
