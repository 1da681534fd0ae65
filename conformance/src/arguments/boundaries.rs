//! Values on both sides of every boundary in a schema.

use serde_json::Value;
use zot_protocol::Object;

use super::{
    LONGEST_STRING,
    generator::Generator,
    numbers::{exact, json_integer, json_number},
    objects::{declared, required},
    place::{SchemaNode, escape, largest},
    positions::Position,
    strings::of_length,
    types::{fixed, types},
};

/// Values longer than this are truncated in messages.
const SHOWN_CHARS: usize = 60;
/// Maximum number of values to try from one enum.
const MAX_ENUM_VALUES: usize = 60;
/// Arrays and objects longer than this are not generated.
const LONGEST: usize = 500;

type Edges = Vec<(Value, String)>;

/// Formats a value for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if text.len() > 4 * SHOWN_CHARS => {
            return format!("a string of {} characters", text.chars().count());
        }
        other => other.to_string(),
    };
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain(['…']).collect()
}

/// Returns arguments with only the required properties, with all properties, and with each optional
/// one absent and present.
pub(super) fn presence(positions: &[Position<'_>]) -> Edges {
    let Some(root) = positions.first() else {
        return Vec::new();
    };
    let mut edges = vec![(root.base.clone(), "only the required properties".to_owned())];
    let mut full = root.value.as_object().cloned().unwrap_or_default();
    let top: Vec<&Position<'_>> = positions
        .iter()
        .filter(|position| position.path.len() == 1)
        .collect();
    for position in &top {
        if let [super::positions::PathStep::Key(key)] = &position.path[..] {
            full.entry(key.as_str())
                .or_insert_with(|| position.value.clone());
        }
    }
    let full_value = Value::Object(full.clone());
    edges.push((full_value, "all properties present".to_owned()));
    for position in positions
        .iter()
        .filter(|position| position.added && !position.path.is_empty())
    {
        edges.push((
            position.base.clone(),
            format!("{} present", position.pointer),
        ));
    }
    for key in full.keys() {
        let mut without = full.clone();
        without.shift_remove(key);
        let why = format!("/{} absent", escape(key));
        edges.push((Value::Object(without), why));
    }
    edges
}

/// Returns the boundary values of one position.
pub(super) fn of<'s>(position: &Position<'s>, generator: &mut Generator<'s>) -> Edges {
    let mut edges = Vec::new();
    if !position.way.taken.is_empty() {
        let place = if position.pointer.is_empty() {
            "all"
        } else {
            &position.pointer
        };
        edges.push((
            position.base.clone(),
            format!("{place}: {}", position.way.taken.join(", ")),
        ));
    }
    let leaves = &position.way.leaves;
    let mut put = |value: Value, what: &str| {
        let why = format!("{} = {}, {what}", position.pointer, shown(&value));
        edges.push((position.with(value), why));
    };
    if let Some((_, keyword, values)) = fixed(leaves) {
        for value in values.into_iter().take(MAX_ENUM_VALUES) {
            put(value.clone(), &format!("from its {keyword}"));
        }
        return edges;
    }
    for (value, what) in numbers(leaves) {
        put(value, &what);
    }
    match &position.value {
        Value::String(text) => {
            for (length, what) in counts(leaves, ["minLength", "maxLength"], LONGEST_STRING) {
                put(of_length(leaves, text, length).into(), &what);
            }
        }
        Value::Bool(_) => {
            put(false.into(), "a boolean");
            put(true.into(), "a boolean");
        }
        Value::Array(list) => {
            for (length, what) in counts(leaves, ["minItems", "maxItems"], LONGEST) {
                let value = list_of_length(generator, leaves, list, length);
                put(value, &what);
            }
        }
        Value::Object(object) => {
            for (length, what) in counts(leaves, ["minProperties", "maxProperties"], LONGEST) {
                put(object_of_length(leaves, object, length), &what);
            }
        }
        _ => {}
    }
    for (value, what) in other_types(leaves, &position.value) {
        put(value, &what);
    }
    edges
}

/// Returns n−1, n and n+1 for every length limit n.
fn counts(
    leaves: &[SchemaNode<'_>],
    keywords: [&'static str; 2],
    most: usize,
) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (keyword, count) in keywords.into_iter().flat_map(|keyword| {
        let limits = leaves
            .iter()
            .filter_map(move |leaf| largest(std::slice::from_ref(leaf), keyword));
        limits.map(move |(count, _)| (keyword, count))
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

/// Returns the numbers around each limit: the limit itself, one below and one above it, and one
/// step of `multipleOf` below and above it. For each `multipleOf` n, also returns n and n+1.
fn numbers(leaves: &[SchemaNode<'_>]) -> Vec<(Value, String)> {
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
                    format!("one step under its {keyword}"),
                ));
                found.push((
                    json_number(bound + step),
                    format!("one step over its {keyword}"),
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
    match exact(bound) {
        Some(exact) => json_integer(exact + i128::from(more)),
        None => json_number(bound.as_f64().unwrap_or(0.0) + f64::from(more)),
    }
}

fn list_of_length<'s>(
    generator: &mut Generator<'s>,
    leaves: &[SchemaNode<'s>],
    list: &[Value],
    length: usize,
) -> Value {
    let mut items: Vec<Value> = list.iter().take(length).cloned().collect();
    while items.len() < length {
        generator.refuel();
        let made = generator.smallest_item(leaves, &items);
        items.push(made.unwrap_or(Value::Null));
    }
    Value::Array(items)
}

fn object_of_length(leaves: &[SchemaNode<'_>], object: &Object, length: usize) -> Value {
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

/// Returns the simplest value of each allowed type, if the schema lists several types. Skips
/// `value` itself.
fn other_types(leaves: &[SchemaNode<'_>], value: &Value) -> Vec<(Value, String)> {
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

/// Returns the simplest value of a type.
pub(crate) fn simplest(name: &str) -> Value {
    match name {
        "string" => Value::from(""),
        "integer" | "number" => Value::from(0),
        "boolean" => Value::from(false),
        "array" => Value::Array(Vec::new()),
        "object" => Value::Object(Object::new()),
        _ => Value::Null,
    }
}
