//! Both sides of every edge that a schema draws.

use serde_json::Value;
use zot_protocol::Object;

use super::{
    LARGEST_TEXT,
    maker::Maker,
    numbers::{json_integer, json_number},
    objects::{declared, required},
    place::{Node, escape, largest},
    spots::Spot,
    texts::of_length,
    types::{fixed, types},
};

/// A value in a message is cut after so many characters.
const SHOWN_CHARS: usize = 60;
/// So many values of one enum are tried.
const ENUM_VALUES: usize = 60;
/// A longer list is not made to stand at its edge.
const LONGEST: usize = 500;

type Edges = Vec<(Value, String)>;

/// A value in a message.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if text.len() > 4 * SHOWN_CHARS => {
            return format!("a text of {} characters", text.chars().count());
        }
        other => other.to_string(),
    };
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain(['…']).collect()
}

/// All optional properties together, and each absent and present.
pub(super) fn presence(spots: &[Spot<'_>]) -> Edges {
    let Some(root) = spots.first() else {
        return Vec::new();
    };
    let mut edges = vec![(
        root.base.clone(),
        "nothing more than is required".to_owned(),
    )];
    let mut full = root.value.as_object().cloned().unwrap_or_default();
    let top: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.path.len() == 1).collect();
    for spot in &top {
        if let [super::spots::Step::Key(key)] = &spot.path[..] {
            full.entry(key.as_str())
                .or_insert_with(|| spot.value.clone());
        }
    }
    let full_value = Value::Object(full.clone());
    edges.push((full_value, "every property present".to_owned()));
    for spot in spots
        .iter()
        .filter(|spot| spot.added && !spot.path.is_empty())
    {
        edges.push((spot.base.clone(), format!("{} present", spot.pointer)));
    }
    for key in full.keys() {
        let mut without = full.clone();
        without.shift_remove(key);
        let why = format!("/{} absent", escape(key));
        edges.push((Value::Object(without), why));
    }
    edges
}

/// The edges of one place.
pub(super) fn of<'s>(spot: &Spot<'s>, maker: &mut Maker<'s>) -> Edges {
    let mut edges = Vec::new();
    if !spot.way.taken.is_empty() {
        let place = if spot.pointer.is_empty() {
            "all"
        } else {
            &spot.pointer
        };
        edges.push((
            spot.base.clone(),
            format!("{place}: {}", spot.way.taken.join(", ")),
        ));
    }
    let leaves = &spot.way.leaves;
    let mut put = |value: Value, words: &str| {
        let why = format!("{} = {}, {words}", spot.pointer, shown(&value));
        edges.push((spot.with(value), why));
    };
    if let Some((_, keyword, values)) = fixed(leaves) {
        for value in values.into_iter().take(ENUM_VALUES) {
            put(value.clone(), &format!("of its {keyword}"));
        }
        return edges;
    }
    for (value, words) in numbers(leaves) {
        put(value, &words);
    }
    match &spot.value {
        Value::String(text) => {
            for (length, words) in counts(leaves, ["minLength", "maxLength"], LARGEST_TEXT) {
                put(of_length(leaves, text, length).into(), &words);
            }
        }
        Value::Bool(_) => {
            put(false.into(), "one of two");
            put(true.into(), "one of two");
        }
        Value::Array(list) => {
            for (length, words) in counts(leaves, ["minItems", "maxItems"], LONGEST) {
                let value = list_of_length(maker, leaves, list, length);
                put(value, &words);
            }
        }
        Value::Object(object) => {
            for (length, words) in counts(leaves, ["minProperties", "maxProperties"], LONGEST) {
                put(object_of_length(leaves, object, length), &words);
            }
        }
        _ => {}
    }
    for (value, words) in other_types(leaves, &spot.value) {
        put(value, &words);
    }
    edges
}

/// n−1, n and n+1 of every count.
fn counts(leaves: &[Node<'_>], keywords: [&'static str; 2], most: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (keyword, count) in keywords.into_iter().flat_map(|keyword| {
        let said = leaves
            .iter()
            .filter_map(move |leaf| largest(std::slice::from_ref(leaf), keyword));
        said.map(move |(count, _)| (keyword, count))
    }) {
        if count > 0 {
            found.push((count - 1, format!("one under its {keyword}")));
        }
        found.push((count, format!("its {keyword}")));
        found.push((count.saturating_add(1), format!("one over its {keyword}")));
    }
    found.retain(|(count, _)| *count <= most);
    found
}

/// n−1, n and n+1 of every bound of a number, and both sides of a multiple.
fn numbers(leaves: &[Node<'_>]) -> Vec<(Value, String)> {
    let mut found = Vec::new();
    for leaf in leaves {
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            let Some(bound) = leaf.get(keyword).filter(|bound| bound.is_number()) else {
                continue;
            };
            let step = leaf.get("multipleOf").and_then(Value::as_f64);
            found.push((plus(bound, -1), format!("one under its {keyword}")));
            found.push((bound.clone(), format!("its {keyword}")));
            found.push((plus(bound, 1), format!("one over its {keyword}")));
            if let (Some(step), Some(bound)) = (step, bound.as_f64()) {
                found.push((
                    json_number(bound - step),
                    format!("a step under its {keyword}"),
                ));
                found.push((
                    json_number(bound + step),
                    format!("a step over its {keyword}"),
                ));
            }
        }
        if let Some(step) = leaf.get("multipleOf").filter(|step| step.is_number()) {
            found.push((step.clone(), "its multipleOf".to_owned()));
            found.push((plus(step, 1), "one over its multipleOf".to_owned()));
        }
    }
    found
}

fn plus(bound: &Value, more: i8) -> Value {
    let exact = bound
        .as_i64()
        .map(i128::from)
        .or_else(|| bound.as_u64().map(i128::from));
    match exact {
        Some(exact) => json_integer(exact + i128::from(more)),
        None => json_number(bound.as_f64().unwrap_or(0.0) + f64::from(more)),
    }
}

fn list_of_length<'s>(
    maker: &mut Maker<'s>,
    leaves: &[Node<'s>],
    list: &[Value],
    length: usize,
) -> Value {
    let mut items: Vec<Value> = list.iter().take(length).cloned().collect();
    while items.len() < length {
        maker.refuel();
        let made = maker.smallest_item(leaves, &items);
        items.push(made.unwrap_or(Value::Null));
    }
    Value::Array(items)
}

fn object_of_length(leaves: &[Node<'_>], object: &Object, length: usize) -> Value {
    let mut object = object.clone();
    let needed = required(leaves);
    let spare = object
        .keys()
        .rev()
        .filter(|key| !needed.contains(&key.as_str()));
    let spare: Vec<String> = spare.cloned().collect();
    for key in spare.iter().take(object.len().saturating_sub(length)) {
        object.shift_remove(key);
    }
    let names = declared(leaves).into_iter().map(str::to_owned);
    let invented = (1..=length).map(|number| format!("x{number}"));
    for name in names.chain(invented) {
        if object.len() >= length {
            break;
        }
        object.entry(name).or_insert_with(|| "a".into());
    }
    Value::Object(object)
}

/// The simplest of each other type that the place may have.
fn other_types(leaves: &[Node<'_>], value: &Value) -> Vec<(Value, String)> {
    if !leaves
        .iter()
        .any(|leaf| leaf.get("type").is_some_and(Value::is_array))
    {
        return Vec::new();
    }
    let types = types(leaves).unwrap_or_default();
    let simplest = types
        .into_iter()
        .map(|name| (simplest(name), format!("of type {name}")));
    simplest.filter(|(simple, _)| simple != value).collect()
}

/// The simplest value of a type.
pub(super) fn simplest(name: &str) -> Value {
    match name {
        "string" => Value::from(""),
        "integer" | "number" => Value::from(0),
        "boolean" => Value::from(false),
        "array" => Value::Array(Vec::new()),
        "object" => Value::Object(Object::new()),
        _ => Value::Null,
    }
}
