//! Objects with their required and optional properties.

use std::collections::HashSet;

use regex::Regex;
use serde_json::Value;
use zot_protocol::Object;

use super::{
    Unsatisfied,
    generator::Generator,
    patterns::{Choice, fitting},
    place::{SchemaNode, largest, smallest},
    rng::Rng,
};

/// Objects that must have more properties than this are not generated.
const MAX_PROPERTIES: usize = 2_000;

/// Returns the schemas of a property: by name, by pattern, or else the one for additional
/// properties.
pub(super) fn property<'s>(leaves: &[SchemaNode<'s>], name: &str) -> Vec<SchemaNode<'s>> {
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

/// Returns the names under `properties`, in schema order.
pub(super) fn declared<'s>(leaves: &[SchemaNode<'s>]) -> Vec<&'s str> {
    let mut seen = HashSet::new();
    leaves
        .iter()
        .filter_map(|leaf| leaf.get("properties")?.as_object())
        .flat_map(Object::keys)
        .map(String::as_str)
        .filter(|name| seen.insert(*name))
        .collect()
}

/// Returns the required names, including those that other required properties depend on.
pub(super) fn required<'s>(leaves: &[SchemaNode<'s>]) -> Vec<&'s str> {
    let mut names: Vec<&'s str> = Vec::new();
    let mut seen = HashSet::new();
    let strings = |list: Option<&'s Value>| {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str)
    };
    for leaf in leaves {
        names.extend(strings(leaf.get("required")).filter(|name| seen.insert(*name)));
    }
    let mut next = 0;
    while let Some(name) = names.get(next).copied() {
        for (leaf, keyword) in leaves
            .iter()
            .flat_map(|leaf| [(leaf, "dependentRequired"), (leaf, "dependencies")])
        {
            let brought = leaf.get(keyword).and_then(|by_name| by_name.get(name));
            names.extend(strings(brought).filter(|name| seen.insert(*name)));
        }
        next += 1;
    }
    names
}

/// Returns objects that probably match the schemas. The caller checks each of them.
pub(super) fn objects<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    depth: usize,
) -> Result<Vec<Value>, Unsatisfied> {
    let least = largest(leaves, "minProperties");
    let low = least.map_or(0, |(count, _)| count);
    let most = smallest(leaves, "maxProperties");
    let high = most.map_or(usize::MAX, |(count, _)| count);
    if let Some((_, node)) = least
        && low > MAX_PROPERTIES
    {
        return Err(Unsatisfied::at(node, "minProperties"));
    }
    let leaves = &with_dependents(leaves);
    let mut object = Object::new();
    for name in required(leaves) {
        let made = generator.make(&property(leaves, name), depth + 1)?;
        object.insert(name.to_owned(), made);
    }
    if let Some((_, node)) = most
        && object.len().max(low) > high
    {
        return Err(Unsatisfied::at(node, "maxProperties"));
    }
    for name in declared(leaves) {
        let wanted = object.len() < low
            || generator
                .rng
                .as_mut()
                .is_some_and(|rng| object.len() < high && rng.once_in(2));
        if !wanted || object.contains_key(name) {
            continue;
        }
        // An optional property for which no value exists is left out.
        if let Ok(made) = generator.make(&property(leaves, name), depth + 1) {
            object.insert(name.to_owned(), made);
        }
    }
    let extra = generator.rng.as_mut().map_or(0, |rng| {
        usize::from(has_open_names(leaves) && rng.once_in(2))
    });
    let wanted = low.max((object.len() + extra).min(high));
    invent(generator, leaves, depth, wanted, &mut object);
    match least {
        Some((_, node)) if object.len() < low => Err(Unsatisfied::at(node, "minProperties")),
        _ => Ok(vec![Value::Object(in_order(leaves, object))]),
    }
}

/// Adds the schemas that depend on the required properties.
fn with_dependents<'s>(leaves: &[SchemaNode<'s>]) -> Vec<SchemaNode<'s>> {
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

/// Reports whether the schema describes properties without listing their names.
fn has_open_names(leaves: &[SchemaNode<'_>]) -> bool {
    leaves.iter().any(|leaf| {
        leaf.get("patternProperties").is_some()
            || leaf
                .get("additionalProperties")
                .is_some_and(Value::is_object)
    })
}

/// Adds properties with generated names until the object has `wanted` of them.
fn invent<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    depth: usize,
    wanted: usize,
    object: &mut Object,
) {
    // Some names have no valid value, so the number of attempts is limited.
    let attempts = (wanted.saturating_sub(object.len())).saturating_mul(2) + 4;
    for attempt in 0..attempts {
        if object.len() >= wanted {
            return;
        }
        for name in names(generator, leaves, depth, attempt) {
            if object.len() >= wanted || object.contains_key(&name) {
                continue;
            }
            if let Ok(made) = generator.make(&property(leaves, &name), depth + 1) {
                object.insert(name, made);
            }
        }
    }
}

fn names<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    depth: usize,
    attempt: usize,
) -> Vec<String> {
    let rules: Vec<_> = leaves
        .iter()
        .filter_map(|leaf| leaf.below("propertyNames"))
        .collect();
    if !rules.is_empty() {
        let rng = generator.rng.take();
        generator.rng = (attempt > 0).then(|| Rng::new(attempt as u64));
        let name = generator.make(&rules, depth + 1);
        generator.rng = rng;
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
            0 => fitting(pattern, Choice::Shortest { more }),
            _ => fitting(pattern, Choice::Random(&mut Rng::new(attempt as u64))),
        })
        .collect();
    names.push(format!("x{}", attempt + 1));
    names
}

/// Sorts the properties in schema order, as the author of the schema would write them.
fn in_order(leaves: &[SchemaNode<'_>], mut object: Object) -> Object {
    let mut ordered = Object::new();
    for name in declared(leaves) {
        if let Some(value) = object.shift_remove(name) {
            ordered.insert(name.to_owned(), value);
        }
    }
    ordered.extend(object);
    ordered
}
