//! Arguments that mean no good, of several kinds, so that a few of each are tried.

use serde_json::{Value, json};
use zot_protocol::Object;

use super::{
    Made, boundaries::simplest, objects::required, place::escape, spots::Spot, types::types,
};

/// So many are made in all.
const MOST: usize = 40;
/// Of a kind with more than this, the seed chooses.
pub(super) const OF_A_KIND: usize = 8;

const LONG_CHARS: usize = 100 * 1024;
const NESTED: usize = 60;
const TYPES: [&str; 6] = ["null", "string", "integer", "boolean", "array", "object"];

type Kind = Vec<(Value, String)>;

/// What can go wrong, kind by kind.
pub(super) fn kinds(minimal: &Object, spots: &[Spot<'_>]) -> Vec<Kind> {
    vec![
        vec![(json!({}), "an empty object".to_owned())],
        spots.iter().flat_map(missing).collect(),
        spots.iter().flat_map(wrong_type).collect(),
        spots.iter().flat_map(nasty_texts).collect(),
        spots.iter().flat_map(extreme_numbers).collect(),
        extra(minimal, spots),
    ]
}

/// One of each kind in turn, until there are enough.
pub(super) fn in_turn(kinds: Vec<Vec<Made>>) -> Vec<Made> {
    let mut kinds: Vec<_> = kinds.into_iter().map(Vec::into_iter).collect();
    let mut all: Vec<Made> = Vec::new();
    loop {
        let before = all.len();
        for kind in &mut kinds {
            let fresh = kind.find(|made| all.iter().all(|other| other.args != made.args));
            if all.len() < MOST {
                all.extend(fresh);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// Without one of the properties that must be there.
fn missing(spot: &Spot<'_>) -> Kind {
    let Value::Object(object) = &spot.value else {
        return Vec::new();
    };
    let needed = required(spot.leaves());
    let there = needed.into_iter().filter(|name| object.contains_key(*name));
    there
        .map(|name| {
            let mut without = object.clone();
            without.shift_remove(name);
            let why = format!("{}/{} missing", spot.pointer, escape(name));
            (spot.with(Value::Object(without)), why)
        })
        .collect()
}

/// A value of a type that the place must not have: `null` always, and what a careless program takes for the right one.
fn wrong_type(spot: &Spot<'_>) -> Kind {
    if spot.path.is_empty() {
        return Vec::new();
    }
    let allowed = types(spot.leaves()).unwrap_or_default();
    let wrong = TYPES.into_iter().filter(|name| {
        let fits_number = *name == "integer" && allowed.contains(&"number");
        !allowed.contains(name) && !fits_number
    });
    let look_alike = match &spot.value {
        Value::Number(number) => Some((Value::from(number.to_string()), "a number as a text")),
        Value::Bool(_) => Some((Value::from("true"), "a boolean as a text")),
        Value::Array(list) => list
            .first()
            .map(|first| (first.clone(), "an item without its list")),
        Value::String(text) => Some((json!([text]), "a text in a list")),
        _ => None,
    };
    let simple = wrong.map(|name| (simplest(name), format!("of the wrong type {name}")));
    let look_alike = look_alike.map(|(value, words)| (value, words.to_owned()));
    let mut simple = simple.collect::<Vec<_>>();
    simple.truncate(2);
    simple
        .into_iter()
        .chain(look_alike)
        .map(|(value, words)| (spot.with(value), format!("{} {words}", spot.pointer)))
        .collect()
}

/// Texts that trip programs up.
fn nasty_texts(spot: &Spot<'_>) -> Kind {
    if !spot.value.is_string() || spot.path.is_empty() {
        return Vec::new();
    }
    let texts = [
        ("a very long text", "a".repeat(LONG_CHARS)),
        ("emoji of several characters each", "👩‍👩‍👧‍👦🏳️‍🌈🦀".to_owned()),
        (
            "line separators of Unicode",
            "a\u{2028}b\u{2029}c\u{85}".to_owned(),
        ),
        ("a NUL and an escape", "a\u{0}b\u{1b}[31m\u{7}".to_owned()),
        (
            "quotes and backslashes",
            "\"'`\\\\n$(id)%s{}\r\n".to_owned(),
        ),
        (
            "right-to-left marks",
            "\u{202e}abc\u{200f}\u{feff}".to_owned(),
        ),
        (
            "a way out of the folder",
            "../../../../etc/passwd".to_owned(),
        ),
    ];
    let put = |(words, text): (&str, String)| {
        let why = format!("{} = {words}", spot.pointer);
        (spot.with(Value::from(text)), why)
    };
    texts.into_iter().map(put).collect()
}

/// Numbers at the ends of what programs count with.
fn extreme_numbers(spot: &Spot<'_>) -> Kind {
    if !spot.value.is_number() || spot.path.is_empty() {
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
        let why = format!("{} = {number}, an extreme", spot.pointer);
        (spot.with(number), why)
    };
    numbers.into_iter().map(put).collect()
}

/// Properties that nobody asked for, one of them deep, and keys that some languages give a meaning.
fn extra(minimal: &Object, spots: &[Spot<'_>]) -> Kind {
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
            "a property more than the schema names".to_owned(),
        ),
        (one("x_deep", deep), format!("a list nested {NESTED} deep")),
        (
            one("__proto__", json!({"x": 1})),
            "a property called __proto__".to_owned(),
        ),
        (one("", json!("")), "a property without a name".to_owned()),
        (with(many), "500 properties more".to_owned()),
    ];
    for spot in spots.iter().filter(|spot| !spot.path.is_empty()) {
        let closed =
            |leaf: &super::place::Node<'_>| leaf.get("additionalProperties") == Some(&json!(false));
        if let Value::Object(object) = &spot.value
            && spot.leaves().iter().any(closed)
        {
            let mut more = object.clone();
            more.insert("x_extra".to_owned(), json!(1));
            let why = format!("{}/x_extra, which is not allowed there", spot.pointer);
            kind.push((spot.with(Value::Object(more)), why));
        }
    }
    kind
}
