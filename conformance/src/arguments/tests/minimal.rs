//! The smallest arguments for each keyword, and the keyword that stops the search.

use serde_json::{Value, json};

use super::arguments;

/// Returns a schema that requires `a`.
fn with(a: &Value) -> Value {
    json!({"type": "object", "properties": {"a": a}, "required": ["a"]})
}

/// Asserts that each schema of `a` generates the expected value.
fn assert_smallest(table: impl IntoIterator<Item = (Value, Value)>) {
    for (a, expected) in table {
        let made = arguments(with(&a)).minimal();
        assert_eq!(made.map(|args| args["a"].clone()), Ok(expected), "{a}");
    }
}

#[test]
fn the_smallest_strings_and_fixed_values() {
    assert_smallest([
        (json!({"type": "string"}), json!("")),
        (json!({"type": "string", "minLength": 2}), json!("aa")),
        (
            json!({"type": "string", "minLength": 2.0, "maxLength": 2}),
            json!("aa"),
        ),
        (json!({"pattern": "^[A-Z]{2}-\\d+$"}), json!("AA-0")),
        (json!({"pattern": "^(long|s|mid)$"}), json!("s")),
        (json!({"pattern": "^x+$", "minLength": 4}), json!("xxxx")),
        (json!({"pattern": "b", "minLength": 3}), json!("baa")),
        (
            json!({"pattern": "^\\w+@\\w+\\.[a-z]{2,}$", "maxLength": 6}),
            json!("a@a.aa"),
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("2026-01-31"),
        ),
        (
            json!({"type": "string", "format": "uuid"}),
            json!("123e4567-e89b-42d3-a456-426614174000"),
        ),
        (json!({"type": "string", "format": "made-up"}), json!("")),
        (json!({"enum": ["c", "f"]}), json!("c")),
        (json!({"type": "integer", "enum": ["c", 7]}), json!(7)),
        (json!({"const": {"x": 1}}), json!({"x": 1})),
    ]);
}

#[test]
fn the_smallest_numbers_and_types() {
    assert_smallest([
        (json!({"type": "integer"}), json!(0)),
        (json!({"type": "integer", "minimum": 3}), json!(3)),
        (json!({"type": "integer", "exclusiveMinimum": 3}), json!(4)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "minimum": 2.5}), json!(3)),
        (
            json!({"type": "integer", "minimum": 1, "multipleOf": 7}),
            json!(7),
        ),
        (
            json!({"type": "integer", "minimum": 1, "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}),
            json!(12),
        ),
        (
            json!({"type": "integer", "minimum": 18_446_744_073_709_551_615_u64}),
            json!(18_446_744_073_709_551_615_u64),
        ),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!(0.5),
        ),
        (
            json!({"type": "number", "minimum": 0.3, "maximum": 0.8, "multipleOf": 0.25}),
            json!(0.5),
        ),
        (json!({"minimum": 2}), json!(2)),
        (json!({"type": "boolean"}), json!(false)),
        (json!({"type": "null"}), json!(null)),
        (json!({"type": ["null", "integer"]}), json!(0)),
    ]);
}

#[test]
fn the_smallest_lists_and_objects() {
    assert_smallest([
        (json!({"type": "array"}), json!([])),
        (
            json!({"type": "array", "minItems": 2, "items": {"type": "integer"}}),
            json!([0, 0]),
        ),
        (
            json!({"minItems": 1, "prefixItems": [{"const": "x"}], "items": false}),
            json!(["x"]),
        ),
        (
            json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"enum": [1, 2]}}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "contains": {"const": 5}}),
            json!([5]),
        ),
        (
            json!({"type": "array", "contains": {"const": 5}, "minContains": 2, "minItems": 3, "items": {"type": "integer"}}),
            json!([0, 5, 5]),
        ),
        (json!({"type": "object"}), json!({})),
        (
            json!({"required": ["x", "y"], "properties": {"y": {"type": "integer"}}}),
            json!({"y": 0, "x": ""}),
        ),
        (
            json!({"type": "object", "minProperties": 2, "properties": {"k": {"type": "boolean"}}}),
            json!({"k": false, "x1": ""}),
        ),
        (
            json!({"type": "object", "minProperties": 1, "patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": false}),
            json!({"n_": 0}),
        ),
        (
            json!({"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[A-Z]{3}$"}}),
            json!({"AAA": ""}),
        ),
        (
            json!({"type": "object", "required": ["q"], "additionalProperties": {"type": "integer"}}),
            json!({"q": 0}),
        ),
        (
            json!({"type": "object", "required": ["p"], "dependentRequired": {"p": ["q"]}}),
            json!({"p": "", "q": ""}),
        ),
        (
            json!({"type": "object", "required": ["p"], "dependentSchemas": {"p": {"required": ["r"]}}}),
            json!({"p": "", "r": ""}),
        ),
    ]);
}

#[test]
fn the_smallest_combined_schemas() {
    assert_smallest([
        (
            json!({"allOf": [{"type": "integer"}, {"minimum": 2}, {"multipleOf": 3}]}),
            json!(3),
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!(0),
        ),
        (
            json!({"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]}),
            json!(3),
        ),
        (
            json!({"oneOf": [{"type": "object", "required": ["x"]}, {"type": "string"}]}),
            json!(""),
        ),
        (
            json!({"type": "string", "not": {"maxLength": 0}}),
            json!("a"),
        ),
        (
            json!({"type": "integer", "not": {"enum": [0, 1, -1]}}),
            json!(2),
        ),
        (json!({"not": {"type": "string"}}), json!(0)),
        (
            json!({"type": "integer", "if": {"maximum": 5}, "then": {"minimum": 3}}),
            json!(3),
        ),
        (
            json!({"type": "integer", "if": {"minimum": 5}, "else": {"const": 4}}),
            json!(4),
        ),
        (json!(true), json!("")),
        (json!({}), json!("")),
    ]);
}

#[test]
fn a_schema_without_a_type_means_an_object() {
    assert_eq!(arguments(json!({})).minimal(), Ok(serde_json::Map::new()));
}

#[test]
fn references_are_followed_as_deeply_as_necessary() {
    let list = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "required": ["value", "next"],
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
            }
        }}
    });
    let made = arguments(list).minimal().map(Value::Object);
    assert_eq!(made, Ok(json!({"value": 0, "next": null})));

    let chain = json!({
        "type": ["object", "null"],
        "required": ["next"],
        "properties": {"next": {"$ref": "#/$defs/chain"}}
    });
    let holder = json!({"properties": {"next": {"$ref": "#/$defs/chain"}}, "required": ["next"], "$defs": {"chain": chain}});
    let made = arguments(holder).minimal().map(Value::Object);
    assert_eq!(made, Ok(json!({"next": null})));

    let whole = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}, "minItems": 1}}});
    let mut both = whole.clone();
    both["required"] = json!(["children"]);
    assert_eq!(arguments(whole).minimal().map(Value::Object), Ok(json!({})));
    let fault = arguments(both).minimal().unwrap_err();
    assert_eq!(fault.keyword, "$ref", "{fault}");
    assert_eq!(fault.pointer, "/properties/children/items");
}

#[test]
fn the_unsatisfiable_keyword_is_named() {
    let table = [
        (
            json!({"type": "integer", "minimum": 5, "maximum": 3}),
            "maximum",
        ),
        (
            json!({"type": "number", "minimum": 5, "exclusiveMaximum": 5}),
            "exclusiveMaximum",
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 6, "multipleOf": 7}),
            "multipleOf",
        ),
        (
            json!({"type": "string", "minLength": 5, "maxLength": 3}),
            "maxLength",
        ),
        (
            json!({"type": "string", "minLength": 1_000_000}),
            "minLength",
        ),
        (
            json!({"type": "string", "pattern": "^a{3}$", "maxLength": 2}),
            "pattern",
        ),
        (json!({"type": "string", "pattern": "[a&&b]"}), "pattern"),
        (json!({"type": "string", "enum": [1, 2]}), "enum"),
        (json!({"type": "string", "const": 1}), "const"),
        (
            json!({"type": "string", "allOf": [{"type": "integer"}]}),
            "type",
        ),
        (json!({"not": {}}), "not"),
        (json!(false), "false"),
        (
            json!({"type": "array", "minItems": 3, "maxItems": 2}),
            "maxItems",
        ),
        (
            json!({"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "boolean"}}),
            "uniqueItems",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": false}),
            "false",
        ),
        (
            json!({"type": "object", "required": ["x", "y"], "maxProperties": 1}),
            "maxProperties",
        ),
        (
            json!({"type": "object", "minProperties": 1, "additionalProperties": false}),
            "minProperties",
        ),
        (json!({"oneOf": [{"const": 1}, {"const": 1}]}), "oneOf"),
    ];
    for (a, keyword) in table {
        let fault = arguments(with(&a)).minimal().expect_err(&a.to_string());
        assert_eq!(fault.keyword, keyword, "{a}: {fault}");
        assert!(fault.pointer.starts_with("/properties/a"), "{a}: {fault}");
    }
}

#[test]
fn a_fault_behind_a_reference_points_to_the_definition() {
    let mut schema = with(&json!({"$ref": "#/$defs/d"}));
    schema["$defs"] = json!({"d": {"type": "string", "not": {}}});
    let fault = arguments(schema).minimal().unwrap_err();
    assert_eq!(
        (fault.pointer.as_str(), fault.keyword.as_str()),
        ("/$defs/d", "not")
    );
}

#[test]
fn a_fault_is_reported_on_one_line() {
    let schema = with(&json!({"type": "integer", "minimum": 5, "maximum": 3}));
    let fault = arguments(schema).minimal().unwrap_err();
    assert_eq!(
        fault.to_string(),
        "found no value that satisfies `maximum` in the schema at /properties/a"
    );
    let fault = arguments(json!({"not": {}})).minimal().unwrap_err();
    assert_eq!(
        fault.to_string(),
        "found no value that satisfies `not` in the schema at its root"
    );
}

#[test]
fn every_format_example_passes_format_validation() {
    for name in super::super::strings::FORMATS.iter().map(|(name, _)| name) {
        for example in super::super::strings::of_format(name) {
            let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"format": name}}});
            let args = super::object(json!({"a": example}));
            assert!(arguments(schema).is_valid(&args), "{name}: {example}");
        }
    }
}
