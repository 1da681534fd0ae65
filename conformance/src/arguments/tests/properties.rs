//! Property tests with random schemas: no panics, correct verdicts, bounded run time.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::object;
use crate::arguments::{Arguments, LARGEST};

/// The CPU time of this thread, which is independent of the load on the machine.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        used.tv_sec.unsigned_abs(),
        used.tv_nsec.try_into().unwrap_or(0),
    )
}

fn schemas() -> impl Strategy<Value = Value> {
    let small = || -3..6_i64;
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        Just(json!(false)),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/d"})),
        proptest::sample::subsequence(vec![json!(1), json!("a"), json!(null), json!([]), json!({"a": 1})], 1..4).prop_map(|values| json!({"enum": values})),
        (small(), small(), 1..5_i64).prop_map(|(low, high, step)| json!({"type": "integer", "minimum": low, "maximum": high, "multipleOf": step})),
        (small(), small()).prop_map(|(low, high)| json!({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high, "multipleOf": 0.5})),
        (0..5_u64, 0..5_u64).prop_map(|(low, high)| json!({"type": "string", "minLength": low, "maxLength": high})),
        proptest::sample::select(vec!["^a+$", "[0-9]{2}", "^(a|bc)*d?$", "\\bx\\b", "^$", "^\\p{L}{3}", "[a&&b]", "(?i)no"]).prop_map(|pattern| json!({"pattern": pattern})),
        proptest::sample::select(vec!["date", "email", "x"]).prop_map(|name| json!({"type": "string", "format": name, "default": "x"})),
        Just(json!({"type": ["null", "boolean", "string"], "examples": [1, "x"]})),
    ];
    leaf.prop_recursive(4, 24, 4, |below| {
        let list = || proptest::collection::vec(below.clone(), 1..4);
        let names = || proptest::sample::subsequence(vec!["a", "b", "c/d"], 0..3);
        prop_oneof![
            3 => (proptest::collection::vec(below.clone(), 3), names(), any::<bool>(), 0..4_u64, 0..5_u64).prop_map(|(three, required, open, low, high)| json!({
                "type": "object", "required": required, "additionalProperties": open, "minProperties": low, "maxProperties": high,
                "properties": {"a": three[0], "b": three[1], "c/d": three[2]}
            })),
            2 => (below.clone(), 0..4_u64, 0..4_u64, any::<bool>()).prop_map(|(items, low, high, unique)| json!({
                "type": "array", "items": items, "minItems": low, "maxItems": high, "uniqueItems": unique
            })),
            1 => (list(), below.clone(), below.clone()).prop_map(|(first, rest, some)| json!({"prefixItems": first, "items": rest, "contains": some})),
            2 => (list(), proptest::sample::select(vec!["anyOf", "oneOf", "allOf"])).prop_map(|(list, keyword)| json!({keyword: list})),
            1 => below.clone().prop_map(|not| json!({"not": not})),
            1 => (below.clone(), below.clone(), below.clone()).prop_map(|(test, then, other)| json!({"if": test, "then": then, "else": other})),
            1 => (below.clone(), below.clone()).prop_map(|(one, names)| json!({
                "patternProperties": {"^x": one}, "propertyNames": names, "minProperties": 1, "dependentRequired": {"a": ["b"]}
            })),
        ]
    })
}

fn tools() -> impl Strategy<Value = Map<String, Value>> {
    (schemas(), schemas(), schemas(), any::<bool>()).prop_map(|(whole, one, other, needed)| {
        let mut schema = match whole {
            Value::Object(whole) => whole,
            _ => Map::new(),
        };
        schema.insert("type".into(), "object".into());
        schema.insert("$defs".into(), json!({"d": one}));
        schema
            .entry("properties")
            .or_insert_with(|| json!({"a": other}));
        if needed {
            schema.insert("required".into(), json!(["a"]));
        }
        schema
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_are_correct_for_any_schema(schema in tools(), seed in any::<u64>()) {
        let Ok(arguments) = Arguments::of(&schema) else { return Ok(()) };
        let before = cpu_time();
        match arguments.minimal() {
            Ok(args) => prop_assert!(arguments.is_valid(&args)),
            Err(fault) => {
                let there = Value::Object(schema.clone());
                prop_assert!(there.pointer(&fault.pointer).is_some(), "{fault}");
            }
        }
        let (boundaries, random) = (arguments.boundaries(), arguments.random(seed, 5));
        prop_assert!(boundaries.iter().chain(&random).all(|made| made.valid));
        prop_assert_eq!(&random, &arguments.random(seed, 5));
        let hostile = arguments.hostile(seed);
        prop_assert!(hostile.len() <= 40);
        for made in arguments.examples().iter().chain(&boundaries).chain(&random).chain(&hostile) {
            prop_assert_eq!(made.valid, arguments.is_valid(&made.args), "{}", made.why);
            prop_assert!(Value::Object(made.args.clone()).to_string().len() <= LARGEST);
            prop_assert!(!made.why.contains('\n'));
        }
        let took = cpu_time().saturating_sub(before);
        prop_assert!(took < Duration::from_secs(10), "took {took:?}");
    }
}

/// Small schemas for which generating arguments would be expensive without limits.
#[test]
fn expensive_schemas_take_bounded_time() {
    let doubling: Map<String, Value> = (0..30)
        .map(|level| {
            let below = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            (format!("d{level}"), json!({"type": "object", "required": ["a", "b"], "properties": {"a": below, "b": below}}))
        })
        .chain([("d30".to_owned(), json!({"type": "string"}))])
        .collect();
    let either =
        json!({"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]});
    let endless =
        json!({"type": "object", "required": ["l", "r"], "properties": {"l": either, "r": either}});
    let tools = [
        json!({"required": ["x"], "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": doubling}),
        json!({"required": ["x"], "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": endless}}),
        json!({"required": ["x"], "properties": {"x": {"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000}}}}),
        json!({"required": ["x"], "properties": {"x": {"type": "array", "minItems": 1500, "uniqueItems": true, "items": {"type": "integer"}}}}),
        json!({"required": ["x"], "properties": {"x": {"pattern": "^((a{0,5}){0,5}){5}$", "minLength": 50}}}),
        json!({"required": ["x"], "properties": {"x": {"allOf": (0..20).map(|_| json!({"oneOf": [{"minLength": 1}, {"maxLength": 3}]})).collect::<Vec<_>>()}}}),
        json!({"minProperties": 1_000_000_000}),
    ];
    for schema in tools {
        let arguments = Arguments::of(&object(schema.clone())).expect("the schema is valid");
        let before = cpu_time();
        assert!(arguments.boundaries().len() <= 300);
        assert!(arguments.hostile(1).len() <= 40);
        assert!(arguments.random(1, 10).len() <= 10);
        let took = cpu_time().saturating_sub(before);
        assert!(took < Duration::from_secs(20), "{took:?}: {schema}");
    }
}
