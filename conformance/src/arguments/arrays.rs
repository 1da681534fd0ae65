//! Lists of a length, with items of their own.

use serde_json::Value;

use super::{
    Unsatisfied,
    dice::Dice,
    maker::Maker,
    place::{Node, largest, smallest},
};

/// A list that must be longer is not made.
const LONGEST: usize = 2_000;
/// From so many items on, it is their number that takes the time.
const MANY: usize = 20;
/// Random items that are tried for each item that must differ from the others.
const TRIES: usize = 12;

/// The schemas of an item.
pub(super) fn item<'s>(leaves: &[Node<'s>], index: usize) -> Vec<Node<'s>> {
    let of_leaf = |leaf: &Node<'s>| {
        let mut first = leaf.listed("prefixItems");
        let mut rest = leaf.below("items");
        // Drafts before 2020-12 wrote it so.
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

/// Lists that fit, or nearly: each is checked by who asked for it.
pub(super) fn lists<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
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
    let more = maker.dice.as_mut().map_or(0, |dice| dice.below(4));
    let mut items: Vec<Value> = Vec::new();
    let mut due = contained.as_slice();
    for index in 0..(low + more).min(high) {
        let mut place = item(leaves, index);
        // What must be contained comes as late as it can: the first places may have schemas of their own.
        if index + due.len() >= low
            && let Some((first, rest)) = due.split_first()
        {
            place.push(first.clone());
            due = rest;
        }
        match distinct(maker, leaves, &place, &items, depth) {
            Ok(made) => items.push(made),
            Err(_) if index >= low => break,
            // With so many items it is their number that is to blame.
            Err(fault) if maker.is_spent() && items.len() >= MANY => {
                return Err(least.map_or(fault, |(_, node)| Unsatisfied::at(node, "minItems")));
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(vec![Value::Array(items)])
}

/// The schemas that some item must fit, each as often as it must be there.
fn contained<'s>(leaves: &[Node<'s>]) -> Vec<Node<'s>> {
    let of_leaf = |leaf: &Node<'s>| {
        let count =
            largest(std::slice::from_ref(leaf), "minContains").map_or(1, |(count, _)| count);
        let schema = leaf.below("contains");
        schema
            .into_iter()
            .flat_map(move |schema| std::iter::repeat_n(schema, count.min(LONGEST)))
    };
    leaves.iter().flat_map(of_leaf).collect()
}

/// An item, other than those that are there where they must differ.
pub(super) fn distinct<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
    place: &[Node<'s>],
    there: &[Value],
    depth: usize,
) -> Result<Value, Unsatisfied> {
    let made = maker.make(place, depth + 1)?;
    let Some(unique) = leaves
        .iter()
        .find(|leaf| leaf.get("uniqueItems") == Some(&Value::Bool(true)))
    else {
        return Ok(made);
    };
    if !there.contains(&made) {
        return Ok(made);
    }
    let dice = maker.dice.take();
    let mut found = None;
    for attempt in 0..TRIES * (there.len() + 1).min(TRIES) {
        let seed = (there.len() * 1000 + attempt) as u64;
        maker.dice = Some(Dice::new(seed));
        found = maker
            .make(place, depth + 1)
            .ok()
            .filter(|made| !there.contains(made));
        if found.is_some() {
            break;
        }
    }
    maker.dice = dice;
    found.ok_or_else(|| Unsatisfied::at(unique, "uniqueItems"))
}
