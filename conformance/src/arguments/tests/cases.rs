//! Example, boundary, random and hostile arguments for a realistic schema.

use serde_json::{Value, json};

use super::{arguments, described};
use crate::arguments::LARGEST;

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 3, "examples": ["Ulm"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            "unit": {"enum": ["c", "f"], "default": "k"}
        },
        "required": ["city"],
        "additionalProperties": false,
        "examples": [{"city": "Rom", "days": 2}]
    })
}

#[test]
fn examples_and_defaults_are_put_into_the_smallest_arguments() {
    let expected = [
        r#"example 1: {"city":"Rom","days":2}"#,
        r#"/city = "Ulm", its example: {"city":"Ulm"}"#,
    ];
    assert_eq!(described(&arguments(weather()).examples()), expected);
    let expected = [
        r#"/days = 3, its default: {"city":"a","days":3}"#,
        r#"! /unit = "k", its default: {"city":"a","unit":"k"}"#,
    ];
    assert_eq!(described(&arguments(weather()).defaults()), expected);
}

#[test]
fn boundaries_are_the_valid_values_on_both_sides_of_each_limit() {
    let expected = [
        r#"only the required properties: {"city":"a"}"#,
        r#"all properties present: {"city":"a","days":1,"unit":"c"}"#,
        r#"/days present: {"city":"a","days":1}"#,
        r#"/unit present: {"city":"a","unit":"c"}"#,
        r#"/city = "aa", one over its minLength: {"city":"aa"}"#,
        r#"/city = "aaa", its maxLength: {"city":"aaa"}"#,
        r#"/days = 2, one over its minimum: {"city":"a","days":2}"#,
        r#"/days = 6, one under its maximum: {"city":"a","days":6}"#,
        r#"/days = 7, its maximum: {"city":"a","days":7}"#,
        r#"/unit = "f", from its enum: {"city":"a","unit":"f"}"#,
    ];
    assert_eq!(described(&arguments(weather()).boundaries()), expected);
}

#[test]
fn boundaries_of_each_keyword() {
    let table = [
        (
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 3, "type": "integer"}),
            json!([1, 2]),
        ),
        (
            json!({"minimum": 0, "maximum": 20, "multipleOf": 5, "type": "integer"}),
            json!([0, 5, 15, 20]),
        ),
        (
            json!({"minimum": 0.5, "type": "number", "maximum": 2}),
            json!([1, 0.5, 1.5, 2]),
        ),
        (json!({"type": "boolean"}), json!([false, true])),
        (json!({"type": ["integer", "null"]}), json!([0, null])),
        (
            json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"const": 1}}),
            json!([[1], [1, 1]]),
        ),
        (
            json!({"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"enum": [1, 2]}}),
            json!([[], [1], [2], [1, 2]]),
        ),
        (
            json!({"type": "object", "minProperties": 1, "maxProperties": 2}),
            json!([{"x1": ""}, {"x1": "", "x2": "a"}]),
        ),
        (
            json!({"anyOf": [{"type": "integer", "minimum": 4}, {"type": "string"}]}),
            json!([4, "", 5]),
        ),
        (
            json!({"type": "string", "pattern": "^x*$", "maxLength": 1}),
            json!(["", "x"]),
        ),
    ];
    for (a, expected) in table {
        let schema = json!({"type": "object", "properties": {"a": a}, "required": ["a"]});
        let made = arguments(schema).boundaries();
        let mut values: Vec<_> = made.iter().map(|made| made.args["a"].clone()).collect();
        let mut expected = expected.as_array().cloned().unwrap_or_default();
        values.sort_by_key(Value::to_string);
        expected.sort_by_key(Value::to_string);
        assert_eq!(values, expected, "{a}");
    }
}

#[test]
fn nested_positions_have_boundaries_too() {
    let schema = json!({"properties": {"list": {"type": "array", "items": {
        "type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}
    }}}});
    let described = described(&arguments(schema).boundaries());
    let wanted = r#"/list/0/n = 9, its maximum: {"list":[{"n":9}]}"#;
    assert!(
        described.iter().any(|line| line == wanted),
        "{described:#?}"
    );
}

#[test]
fn the_same_seed_generates_the_same_arguments() {
    let arguments = arguments(weather());
    let first = arguments.random(7, 20);
    assert_eq!(first, arguments.random(7, 20));
    assert_ne!(first, arguments.random(8, 20));
    assert_eq!(first.len(), 20);
    assert!(first.iter().all(|made| made.valid));
    // Reports show the seed, so the arguments generated from it must never change.
    insta::assert_snapshot!(described(&first[..3]).join("\n"), @r#"
    random case 1 of seed 7: {"city":"Q7_","unit":"c"}
    random case 2 of seed 7: {"city":"🦀"}
    random case 3 of seed 7: {"city":"-éQ","unit":"c"}
    "#);
}

#[test]
fn hostile_arguments_cover_every_kind_and_are_bounded() {
    let arguments = arguments(weather());
    let hostile = arguments.hostile(1);
    assert_eq!(hostile, arguments.hostile(1));
    assert!(hostile.len() <= 40, "{}", hostile.len());
    let described = described(&hostile);
    for wanted in [
        "! an empty object: {}",
        "! /city of the wrong type null",
        "! /days = 8, one over its maximum",
        "! /days = 0, one under its minimum",
        "! an undeclared property",
        "! /city = a very long string",
    ] {
        assert!(
            described.iter().any(|line| line.starts_with(wanted)),
            "{wanted}: {described:#?}"
        );
    }
    for made in &hostile {
        assert!(Value::Object(made.args.clone()).to_string().len() <= LARGEST);
        assert_eq!(made.valid, arguments.is_valid(&made.args));
    }
}

#[test]
fn hostile_arguments_include_valid_ones() {
    let schema = json!({"properties": {"text": {"type": "string"}, "n": {"type": "number"}}, "required": ["text", "n"]});
    let described = described(&arguments(schema).hostile(3));
    for wanted in [
        "/text = a very long",
        "/text = a NUL",
        "/text = Unicode line separators",
        "/text = emoji",
        "/n = 1e+308",
        "an array nested",
    ] {
        assert!(
            described.iter().any(|line| line.starts_with(wanted)),
            "{wanted}: {described:#?}"
        );
    }
}

#[test]
fn an_unsatisfiable_schema_still_gets_hostile_arguments() {
    let arguments = arguments(json!({"not": {}}));
    assert!(arguments.boundaries().is_empty());
    assert!(arguments.random(1, 5).is_empty());
    assert!(arguments.hostile(1).iter().all(|made| !made.valid));
    assert!(!arguments.hostile(1).is_empty());
}
