//! Hostile arguments of several kinds.

use serde_json::{Value, json};
use zot_protocol::Object;

use super::{
    GeneratedArgs, boundaries::simplest, objects::required, place::escape, positions::Position,
    types::types,
};

/// Maximum number of hostile arguments in total.
const MAX_TOTAL: usize = 40;
/// Kinds with more cases than this are shuffled with the seed, because not all of their cases are
/// used.
pub(super) const MAX_PER_KIND: usize = 8;

const LONG_CHARS: usize = 100 * 1024;
const NESTED: usize = 60;
const TYPES: [&str; 6] = ["null", "string", "integer", "boolean", "array", "object"];

type Kind = Vec<(Value, String)>;

/// Returns the hostile arguments of each kind.
pub(super) fn kinds(minimal: &Object, positions: &[Position<'_>]) -> Vec<Kind> {
    vec![
        vec![(json!({}), "an empty object".to_owned())],
        positions.iter().flat_map(missing).collect(),
        positions.iter().flat_map(wrong_type).collect(),
        positions.iter().flat_map(unusual_strings).collect(),
        positions.iter().flat_map(extreme_numbers).collect(),
        extra(minimal, positions),
    ]
}

/// Takes one case of each kind in turn, up to [`MAX_TOTAL`]. Skips duplicates.
pub(super) fn round_robin(kinds: Vec<Vec<GeneratedArgs>>) -> Vec<GeneratedArgs> {
    let mut kinds: Vec<_> = kinds.into_iter().map(Vec::into_iter).collect();
    let mut all: Vec<GeneratedArgs> = Vec::new();
    loop {
        let before = all.len();
        for kind in &mut kinds {
            let fresh = kind.find(|made| all.iter().all(|other| other.args != made.args));
            if all.len() < MAX_TOTAL {
                all.extend(fresh);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// Removes each required property in turn.
fn missing(position: &Position<'_>) -> Kind {
    let Value::Object(object) = &position.value else {
        return Vec::new();
    };
    let needed = required(position.leaves());
    let there = needed.into_iter().filter(|name| object.contains_key(*name));
    there
        .map(|name| {
            let mut without = object.clone();
            without.shift_remove(name);
            let why = format!("{}/{} missing", position.pointer, escape(name));
            (position.with(Value::Object(without)), why)
        })
        .collect()
}

/// Inserts values of the wrong type: `null`, and look-alikes that a careless program accepts.
fn wrong_type(position: &Position<'_>) -> Kind {
    if position.path.is_empty() {
        return Vec::new();
    }
    let allowed = types(position.leaves()).unwrap_or_default();
    let wrong = TYPES.into_iter().filter(|name| {
        let fits_number = *name == "integer" && allowed.contains(&"number");
        !allowed.contains(name) && !fits_number
    });
    let look_alike = match &position.value {
        Value::Number(number) => Some((Value::from(number.to_string()), "a number as a string")),
        Value::Bool(_) => Some((Value::from("true"), "a boolean as a string")),
        Value::Array(list) => list
            .first()
            .map(|first| (first.clone(), "a single item instead of an array")),
        Value::String(text) => Some((json!([text]), "a string in an array")),
        _ => None,
    };
    let simple = wrong.map(|name| (simplest(name), format!("of the wrong type {name}")));
    let look_alike = look_alike.map(|(value, what)| (value, what.to_owned()));
    let mut simple = simple.collect::<Vec<_>>();
    simple.truncate(2);
    simple
        .into_iter()
        .chain(look_alike)
        .map(|(value, what)| (position.with(value), format!("{} {what}", position.pointer)))
        .collect()
}

/// Inserts strings that often break programs.
fn unusual_strings(position: &Position<'_>) -> Kind {
    if !position.value.is_string() || position.path.is_empty() {
        return Vec::new();
    }
    let strings = [
        ("a very long string", "a".repeat(LONG_CHARS)),
        (
            "emoji, some made of several code points",
            "👩‍👩‍👧‍👦🏳️‍🌈🦀".to_owned(),
        ),
        (
            "Unicode line separators",
            "a\u{2028}b\u{2029}c\u{85}".to_owned(),
        ),
        (
            "a NUL and an escape sequence",
            "a\u{0}b\u{1b}[31m\u{7}".to_owned(),
        ),
        (
            "quotes and backslashes",
            "\"'`\\\\n$(id)%s{}\r\n".to_owned(),
        ),
        (
            "right-to-left marks",
            "\u{202e}abc\u{200f}\u{feff}".to_owned(),
        ),
        ("a path traversal", "../../../../etc/passwd".to_owned()),
    ];
    let put = |(what, text): (&str, String)| {
        let why = format!("{} = {what}", position.pointer);
        (position.with(Value::from(text)), why)
    };
    strings.into_iter().map(put).collect()
}

/// Inserts numbers at the limits of common number types.
fn extreme_numbers(position: &Position<'_>) -> Kind {
    if !position.value.is_number() || position.path.is_empty() {
        return Vec::new();
    }
    let numbers = [
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(-0.0),
        json!(5e-324),
        json!(9_007_199_254_740_993_u64),
    ];
    let put = |number: Value| {
        let why = format!("{} = {number}, an extreme value", position.pointer);
        (position.with(number), why)
    };
    numbers.into_iter().map(put).collect()
}

/// Adds properties that the schema does not declare, one of them deeply nested, and keys that are
/// special in some languages.
fn extra(minimal: &Object, positions: &[Position<'_>]) -> Kind {
    let mut deep = json!([]);
    for _ in 0..NESTED {
        deep = json!([deep]);
    }
    let many: Object = (0..500)
        .map(|number| (format!("x{number}"), json!(number)))
        .collect();
    let with = |more: Object| Value::Object(minimal.clone().into_iter().chain(more).collect());
    let one = |key: &str, value: Value| with(Object::from_iter([(key.to_owned(), value)]));
    let mut kind = vec![
        (
            one("x_extra", json!(1)),
            "an undeclared property".to_owned(),
        ),
        (
            one("x_deep", deep),
            format!("an array nested {NESTED} levels deep"),
        ),
        (
            one("__proto__", json!({"x": 1})),
            "a property named __proto__".to_owned(),
        ),
        (
            one("", json!("")),
            "a property with an empty name".to_owned(),
        ),
        (with(many), "500 undeclared properties".to_owned()),
    ];
    for position in positions
        .iter()
        .filter(|position| !position.path.is_empty())
    {
        let closed = |leaf: &super::place::SchemaNode<'_>| {
            leaf.get("additionalProperties") == Some(&json!(false))
        };
        if let Value::Object(object) = &position.value
            && position.leaves().iter().any(closed)
        {
            let mut more = object.clone();
            more.insert("x_extra".to_owned(), json!(1));
            let why = format!(
                "{}/x_extra, which additionalProperties forbids",
                position.pointer
            );
            kind.push((position.with(Value::Object(more)), why));
        }
    }
    kind
}
