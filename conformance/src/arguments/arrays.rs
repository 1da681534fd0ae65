//! Arrays of a given length, with items that match their own schemas.

use serde_json::Value;

use super::{
    Unsatisfied,
    generator::Generator,
    place::{SchemaNode, largest, smallest},
    rng::Rng,
};

/// Arrays that must be longer than this are not generated.
const LONGEST: usize = 2_000;
/// If the fuel runs out in an array of at least this many items, blame the number of items.
const MANY: usize = 20;
/// Number of random items to try for each item that must be unique.
const TRIES: usize = 12;

/// Returns the schemas of the item at an index.
pub(super) fn item<'s>(leaves: &[SchemaNode<'s>], index: usize) -> Vec<SchemaNode<'s>> {
    let of_leaf = |leaf: &SchemaNode<'s>| {
        let mut first = leaf.listed("prefixItems");
        let mut rest = leaf.below("items");
        // In drafts before 2020-12, an array under `items` plays the role of `prefixItems`.
        if leaf.get("items").is_some_and(Value::is_array) {
            first = leaf.listed("items");
            rest = leaf.below("additionalItems");
        }
        if index < first.len() {
            Some(first.swap_remove(index))
        } else {
            rest
        }
    };
    leaves.iter().filter_map(of_leaf).collect()
}

/// Returns arrays that probably match the schemas. The caller checks each of them.
pub(super) fn lists<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    depth: usize,
) -> Result<Vec<Value>, Unsatisfied> {
    let contained = contained(leaves);
    let least = largest(leaves, "minItems");
    let low = least.map_or(0, |(count, _)| count).max(contained.len());
    let most = smallest(leaves, "maxItems");
    let high = most.map_or(usize::MAX, |(count, _)| count);
    if let Some((_, node)) = most
        && low > high
    {
        return Err(Unsatisfied::at(node, "maxItems"));
    }
    if let Some((_, node)) = least
        && low > LONGEST
    {
        return Err(Unsatisfied::at(node, "minItems"));
    }
    let more = generator.rng.as_mut().map_or(0, |rng| rng.below(4));
    let mut items: Vec<Value> = Vec::new();
    let mut due = contained.as_slice();
    for index in 0..(low + more).min(high) {
        let mut place = item(leaves, index);
        // Put the items for `contains` as late as possible, because `prefixItems` may constrain the
        // first items.
        if index + due.len() >= low
            && let Some((first, rest)) = due.split_first()
        {
            place.push(first.clone());
            due = rest;
        }
        match distinct(generator, leaves, &place, &items, depth) {
            Ok(made) => items.push(made),
            Err(_) if index >= low => break,
            Err(fault) if generator.is_out_of_fuel() && items.len() >= MANY => {
                return Err(least.map_or(fault, |(_, node)| Unsatisfied::at(node, "minItems")));
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(vec![Value::Array(items)])
}

/// Returns the `contains` schemas, each repeated once for every item that must match it.
fn contained<'s>(leaves: &[SchemaNode<'s>]) -> Vec<SchemaNode<'s>> {
    let of_leaf = |leaf: &SchemaNode<'s>| {
        let count =
            largest(std::slice::from_ref(leaf), "minContains").map_or(1, |(count, _)| count);
        let schema = leaf.below("contains");
        schema
            .into_iter()
            .flat_map(move |schema| std::iter::repeat_n(schema, count.min(LONGEST)))
    };
    leaves.iter().flat_map(of_leaf).collect()
}

/// Generates an item. If items must be unique, it differs from the existing ones.
pub(super) fn distinct<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    place: &[SchemaNode<'s>],
    there: &[Value],
    depth: usize,
) -> Result<Value, Unsatisfied> {
    let made = generator.make(place, depth + 1)?;
    let Some(unique) = leaves
        .iter()
        .find(|leaf| leaf.get("uniqueItems") == Some(&Value::Bool(true)))
    else {
        return Ok(made);
    };
    if !there.contains(&made) {
        return Ok(made);
    }
    let rng = generator.rng.take();
    let mut found = None;
    for attempt in 0..TRIES * (there.len() + 1).min(TRIES) {
        let seed = (there.len() * 1000 + attempt) as u64;
        generator.rng = Some(Rng::new(seed));
        found = generator
            .make(place, depth + 1)
            .ok()
            .filter(|made| !there.contains(made));
        if found.is_some() {
            break;
        }
    }
    generator.rng = rng;
    found.ok_or_else(|| Unsatisfied::at(unique, "uniqueItems"))
}
