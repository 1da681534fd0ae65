//! A tool's schema is foreign input.

use serde_json::{Value, json};
use zot_protocol::validate::ToolSchema;

fn compile(schema: &Value) -> Result<ToolSchema, String> {
    ToolSchema::for_arguments(schema.as_object().expect("an object"))
        .map_err(|fault| fault.to_string())
}

#[test]
fn arguments_are_checked_with_pointer_and_reason() {
    let schema = compile(&json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
        "required": ["city"],
    }))
    .expect("compiles");
    schema
        .check(&json!({"city": "Berlin", "days": 3}))
        .expect("fits");
    let says = |args: &Value| schema.check(args).unwrap_err().to_string();
    assert_eq!(says(&json!({})), "/city: missing");
    assert_eq!(says(&json!({"city": 5})), "/city: 5 is not a string");
    assert_eq!(
        says(&json!({"city": "Berlin", "days": 8})),
        "/days: 8 is more than 7"
    );
}

#[test]
fn references_out_of_the_schema_are_refused() {
    for target in [
        "http://localhost:1/x.json",
        "file:///etc/passwd",
        "other.json",
        "//host/x",
    ] {
        let fault = compile(&json!({"properties": {"a": {"$ref": target}}})).unwrap_err();
        assert_eq!(
            fault,
            format!("the schema refers to `{target}`, which is outside it")
        );
    }
    compile(
        &json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}),
    )
    .expect("inside");
}

#[test]
fn patterns_that_could_hang_are_refused_and_the_others_are_linear() {
    let fault = compile(&json!({"properties": {"a": {"pattern": "^(?=a)b"}}})).unwrap_err();
    assert!(fault.starts_with("not a JSON Schema"), "{fault}");

    let schema = compile(&json!({"properties": {"a": {"pattern": "^(a+)+$"}}})).expect("compiles");
    let evil = format!("{}b", "a".repeat(100_000));
    assert!(schema.check(&json!({ "a": evil })).is_err());
}

#[test]
fn size_and_depth_are_bounded() {
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"properties": {"a": deep}});
    }
    assert_eq!(
        compile(&deep).unwrap_err(),
        "the schema nests more than 64 levels deep"
    );
    let large = json!({"description": "x".repeat(300_000)});
    assert_eq!(
        compile(&large).unwrap_err(),
        "the schema has 300018 bytes, more than 262144"
    );
}

/// Thirty lines of references, each naming the next one twice, stand for a billion schemas.
#[test]
fn references_that_multiply_are_refused() {
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = format!("#/$defs/a{}", level + 1);
        definitions.insert(
            format!("a{level}"),
            json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
        );
    }
    definitions.insert("a30".into(), json!({"type": "object"}));
    let fault = compile(&json!({"$ref": "#/$defs/a0", "$defs": definitions})).unwrap_err();
    assert_eq!(
        fault,
        "the schema's references expand to more than 20000 schemas"
    );
}

#[test]
fn a_recursive_schema_is_fine() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/node"}}}}},
    });
    let schema = compile(&tree).expect("compiles");
    schema
        .check(&json!({"children": [{"children": []}]}))
        .expect("fits");
    assert!(
        schema
            .check(&json!({"children": [{"children": [7]}]}))
            .is_err()
    );
}

#[test]
fn the_type_is_object_or_absent() {
    compile(&json!({})).expect("absent means object");
    assert_eq!(
        compile(&json!({"type": "array"})).unwrap_err(),
        "the schema's type is \"array\", not \"object\""
    );
    assert_eq!(
        compile(&json!({"type": ["object", "null"]})).unwrap_err(),
        "the schema's type is a list, not \"object\""
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    for schema in [
        json!({"properties": 5}),
        json!({"required": "city"}),
        json!({"properties": {"a": {"type": "strin"}}}),
    ] {
        let fault = compile(&schema).unwrap_err();
        assert!(fault.starts_with("not a JSON Schema: "), "{fault}");
    }
}
