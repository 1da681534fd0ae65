//! Tool schemas are untrusted input.

use proptest::prelude::*;
use serde_json::{Value, json};
use zot_protocol::{Object, validate::ToolSchema};

fn compile(schema: &Value) -> Result<ToolSchema, String> {
    ToolSchema::for_arguments(schema.as_object().expect("an object"))
        .map_err(|fault| fault.to_string())
}

#[test]
fn argument_errors_have_a_pointer_and_a_reason() {
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
fn external_references_are_rejected() {
    let targets = [
        "http://localhost:1/x.json",
        "file:///etc/passwd",
        "other.json",
        "//host/x",
        "#nowhere",
        "#/nowhere",
        "#/%24defs/a",
    ];
    for target in targets {
        let fault = compile(&json!({"properties": {"a": {"$ref": target}}, "$defs": {"a": {}}}))
            .unwrap_err();
        assert_eq!(
            fault,
            format!(
                "the schema refers to `{target}`; only references within the schema are supported, such as `#/$defs/x`"
            )
        );
    }
    compile(
        &json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}),
    )
    .expect("an internal reference is accepted");
    compile(&json!({"default": {"$ref": "x.json"}, "enum": [{"$ref": "y"}]}))
        .expect("`$ref` in data is not a reference");
}

#[test]
fn unsupported_reference_keywords_are_rejected() {
    for (keyword, value) in [
        ("$dynamicRef", "#a"),
        ("$recursiveRef", "#"),
        ("$anchor", "a"),
        ("$dynamicAnchor", "a"),
    ] {
        let fault =
            compile(&json!({"properties": {"a": {"$ref": "#", keyword: value}}})).unwrap_err();
        assert_eq!(
            fault,
            format!("the schema uses `{keyword}`, which is not supported in tool schemas")
        );
    }
    let fault =
        compile(&json!({"properties": {"a": {"$id": "http://localhost:1/x"}}})).unwrap_err();
    assert_eq!(
        fault,
        "the schema uses `nested $id`, which is not supported in tool schemas"
    );
    compile(&json!({"properties": {"$id": {"type": "string"}, "$anchor": {"type": "string"}}}))
        .expect("properties can have these names");
}

#[test]
fn backtracking_patterns_are_rejected_and_others_are_linear() {
    let fault = compile(&json!({"properties": {"a": {"pattern": "^(?=a)b"}}})).unwrap_err();
    assert_eq!(
        fault,
        "not a JSON Schema: /properties/a/pattern: the pattern ^(?=a)b is invalid, too large, or uses look-around"
    );
    let fault = compile(&json!({"properties": {"a": {"pattern": "(a{1000}){1000}"}}})).unwrap_err();
    assert!(fault.contains("too large"), "{fault}");
    let many: serde_json::Map<String, Value> = (0..65)
        .map(|index| (format!("\\p{{L}}{{20}}{index}"), json!(true)))
        .collect();
    assert_eq!(
        compile(&json!({ "patternProperties": many })).unwrap_err(),
        "the schema has more than 64 patterns"
    );

    let schema = compile(&json!({"properties": {"a": {"pattern": "^(a+)+$"}}})).expect("compiles");
    let evil = format!("{}b", "a".repeat(100_000));
    assert!(schema.check(&json!({ "a": evil })).is_err());
}

#[test]
fn schema_size_and_depth_are_limited() {
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"properties": {"a": deep}});
    }
    assert_eq!(
        compile(&deep).unwrap_err(),
        "the schema is nested more than 64 levels deep"
    );
    let large = json!({"description": "x".repeat(300_000)});
    assert_eq!(
        compile(&large).unwrap_err(),
        "the schema is 300034 bytes, more than the limit of 262144"
    );
}

/// A chain of references as long as a schema allows would overflow the stack of a recursive walk.
#[test]
fn a_long_chain_of_references_does_not_overflow_the_stack() {
    let mut chain = serde_json::Map::new();
    for link in 0..1700 {
        let mut wrapped = json!({"$ref": format!("#/x/{}", link + 1)});
        for _ in 0..28 {
            wrapped = json!({ "not": wrapped });
        }
        chain.insert(link.to_string(), wrapped);
    }
    chain.insert("1700".into(), json!({}));
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            // It may be accepted or rejected, but must not overflow the stack.
            let _ = compile(&json!({"$ref": "#/x/0", "x": chain}));
        });
    thread
        .expect("start the thread")
        .join()
        .expect("no overflow");
}

/// A chain of thirty definitions, each referring to the next one twice, expands to a billion
/// schemas.
#[test]
fn exponential_schemas_are_rejected() {
    const FAULT: &str =
        "the schema is too expensive to check: it applies too many subschemas to the same value";
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = format!("#/$defs/a{}", level + 1);
        definitions.insert(
            format!("a{level}"),
            json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
        );
    }
    definitions.insert("a30".into(), json!({"type": "object"}));
    assert_eq!(
        compile(&json!({"$ref": "#/$defs/a0", "$defs": definitions})).unwrap_err(),
        FAULT
    );

    let mut nested = json!({});
    for _ in 0..28 {
        nested = json!({"unevaluatedProperties": false, "allOf": [nested]});
    }
    assert_eq!(compile(&nested).unwrap_err(), FAULT);
}

fn nested(levels: usize) -> Value {
    let mut value = json!({});
    for _ in 0..levels {
        value = json!({ "c": value });
    }
    value
}

/// If each level of a value doubles the work, only shallow values are checked.
#[test]
fn work_that_grows_with_the_value_is_limited() {
    let branch = json!({"properties": {"c": {"$ref": "#/$defs/n"}}});
    let doubling =
        compile(&json!({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [branch, branch]}}}))
            .expect("compiles");
    doubling.check(&nested(8)).expect("fits");
    let too_deep = "is too large or too deeply nested to check against the schema";
    assert_eq!(
        doubling.check(&nested(20)).unwrap_err().to_string(),
        too_deep
    );
    assert_eq!(
        doubling.check(&nested(100)).unwrap_err().to_string(),
        too_deep
    );

    let again = compile(&json!({
        "properties": {"c": {"$ref": "#"}}, "anyOf": [{"properties": {"c": {"$ref": "#"}}}], "unevaluatedProperties": false,
    }))
    .expect("compiles");
    assert_eq!(again.check(&nested(20)).unwrap_err().to_string(), too_deep);

    let many = json!({"items": {"allOf": vec![json!({"minimum": 0}); 9000]}});
    let wide = compile(&json!({"properties": {"l": many}})).expect("compiles");
    wide.check(&json!({"l": [1, 2, 3]})).expect("fits");
    assert_eq!(
        wide.check(&json!({"l": vec![1; 100_000]}))
            .unwrap_err()
            .to_string(),
        too_deep
    );
}

/// The limits do not affect realistic schemas.
#[test]
fn large_realistic_schemas_are_accepted() {
    compile(&json!({"properties": {"n": {"enum": (0..20_000).collect::<Vec<_>>()}}}))
        .expect("a long enum");
    let mut definitions = serde_json::Map::new();
    for level in 0..1000 {
        definitions.insert(
            format!("d{level}"),
            json!({"properties": {"next": {"$ref": format!("#/$defs/d{}", (level + 1) % 1000)}}}),
        );
    }
    let chain =
        compile(&json!({"$ref": "#/$defs/d0", "$defs": definitions})).expect("a long chain");
    chain.check(&json!({"next": {"next": {}}})).expect("fits");

    let tree = compile(&json!({
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "children": {"items": {"$ref": "#"}}},
    }))
    .expect("a tree");
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"left": deep, "right": {}, "children": [{}, {}]});
    }
    tree.check(&deep).expect("deep values are accepted");

    let list =
        compile(&json!({"properties": {"l": {"type": "array", "items": {"type": "integer"}}}}))
            .expect("a list");
    list.check(&json!({"l": vec![1; 1_000_000]}))
        .expect("a million numbers");
}

#[test]
fn numbers_are_compared_exactly() {
    let schema = compile(&json!({
        "properties": {"l": {"uniqueItems": true}, "c": {"const": 9_007_199_254_740_993_u64}},
    }))
    .expect("compiles");
    let fits = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        schema.check(&value).is_ok()
    };
    let many: Vec<String> = (0..20).map(|n| format!("{n},")).collect();
    let many = many.concat();
    for (one, other, same) in [
        ("9007199254740993", "9007199254740992", false),
        ("9007199254740993", "9007199254740993", true),
        ("9007199254740992", "9007199254740992.0", true),
        ("9007199254740993", "9007199254740992.0", false),
        ("18446744073709551615", "18446744073709551614", false),
        ("18446744073709551615", "18446744073709551616", false),
        ("-9007199254740993", "-9007199254740992", false),
        ("-9223372036854775808", "-9223372036854775807", false),
        ("-1", "18446744073709551615", false),
        ("30", "30.0", true),
        ("30", "3e1", true),
        ("0.0", "-0.0", true),
    ] {
        for list in [
            format!(r#"{{"l":[{one},{other}]}}"#),
            format!(r#"{{"l":[[{one}],[{other}]]}}"#),
            format!(r#"{{"l":[{{"a":{one}}},{{"a":{other}}}]}}"#),
            format!(r#"{{"l":["x",{many}[{one}],[{other}]]}}"#),
        ] {
            assert_eq!(fits(&list), !same, "{list}");
        }
    }
    assert!(fits(r#"{"c":9007199254740993}"#));
    assert!(!fits(r#"{"c":9007199254740992}"#));
    assert!(!fits(r#"{"c":9007199254740992.0}"#));
}

#[test]
fn messages_are_one_line_without_control_characters() {
    let schema = compile(&json!({
        "additionalProperties": {"type": "string"}, "required": ["\u{1b}[31m"],
        "properties": {"c": {"const": "\u{9b}31m"}, "e": {"enum": (0..1000).collect::<Vec<_>>()}, "m": {"maxLength": 3}},
    }))
    .expect("compiles");
    for value in [
        json!({"\u{1b}[2J\nevil\u{202e}": 5}),
        json!({}),
        json!({"\u{1b}[31m": "", "c": 1}),
        json!({"\u{1b}[31m": "", "e": "x"}),
    ] {
        let said = schema.check(&value).unwrap_err().to_string();
        assert!(
            !said
                .chars()
                .any(|char| char.is_control() || char == '\u{202e}'),
            "{said:?}"
        );
        assert!(said.len() < 500, "{said}");
    }
    let said = schema
        .check(&json!({"\u{1b}[31m": "", "m": "a".repeat(500)}))
        .unwrap_err()
        .to_string();
    assert!(
        said.ends_with("has more than 3 characters"),
        "the reason is cut off: {said}"
    );

    let strict = compile(&json!({"properties": {"a": {}}, "additionalProperties": false}))
        .expect("compiles");
    assert_eq!(
        strict
            .check(&json!({"a": 1, "b/c": 2}))
            .unwrap_err()
            .to_string(),
        "/b~1c: is not allowed here"
    );
}

#[test]
fn a_recursive_schema_is_accepted() {
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
fn the_type_must_be_object_or_absent() {
    let absent = compile(&json!({})).expect("absent means object");
    assert_eq!(
        absent.check(&json!([1])).unwrap_err().to_string(),
        "a list is not an object"
    );
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
fn an_invalid_schema_is_rejected() {
    for schema in [
        json!({"properties": 5}),
        json!({"required": "city"}),
        json!({"properties": {"a": {"type": "strin"}}}),
    ] {
        let fault = compile(&schema).unwrap_err();
        assert!(fault.starts_with("not a JSON Schema: "), "{fault}");
    }
}

/// Generates parts of schemas, both valid and invalid.
fn schema_like() -> impl Strategy<Value = Value> {
    let leaf = proptest::sample::select(vec![
        json!(true),
        json!(null),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1e300),
        json!(u64::MAX),
        json!("string"),
        json!("strin"),
        json!([]),
        json!(["a", "b"]),
        json!(["a", "a"]),
        json!(["string", "null"]),
        json!(["null", "null"]),
        json!([1, null]),
        json!({}),
    ]);
    let keywords = [
        "type",
        "title",
        "description",
        "default",
        "const",
        "enum",
        "required",
        "items",
        "additionalProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "$ref",
        "pattern",
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let own = (proptest::sample::select(keywords.to_vec()), inner.clone());
        let fields = proptest::collection::hash_map("[a-c]", inner, 0..3);
        (
            proptest::collection::vec(own, 0..3),
            proptest::option::of(fields),
        )
            .prop_map(|(own, fields)| {
                let mut schema: Object = own
                    .into_iter()
                    .map(|(key, it)| (key.to_owned(), it))
                    .collect();
                if let Some(fields) = fields {
                    schema.insert("properties".into(), fields.into_iter().collect());
                }
                Value::Object(schema)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Also covers simple schemas, whose validator is built only on the first `check`.
    #[test]
    fn an_accepted_schema_can_check_values(schema in schema_like()) {
        if let Value::Object(schema) = &schema
            && let Ok(compiled) = ToolSchema::compile(schema)
        {
            let _ = compiled.check(&json!({"a": 1, "b": ["x"], "c": {"a": null}}));
        }
    }
}
