//! Generates values from a JSON Schema, for the keywords that our schemas use.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Generates values that match a schema.
pub(super) fn values_of(schema: &Value) -> BoxedStrategy<Value> {
    values(
        schema,
        &Root {
            document: schema,
            references: 0,
        },
    )
}

/// The whole document, and the number of references followed so far. The number is limited, because
/// blocks can contain blocks.
#[derive(Clone, Copy)]
struct Root<'s> {
    document: &'s Value,
    references: usize,
}

fn values(schema: &Value, root: &Root<'_>) -> BoxedStrategy<Value> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root
            .document
            .pointer(&target[1..])
            .expect("references point into the document");
        return values(
            target,
            &Root {
                references: root.references + 1,
                ..*root
            },
        );
    }
    if let Some(only) = schema.pointer("/allOf/0") {
        return values(only, root);
    }
    if let Some(constant) = schema.get("const") {
        return Just(constant.clone()).boxed();
    }
    if let Some(names) = schema["enum"].as_array() {
        return proptest::sample::select(names.clone()).boxed();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(branches) = schema[choice].as_array() {
            // When nested too deeply, use only the first branch, which contains no further
            // references.
            let count = if root.references > 2 {
                1
            } else {
                branches.len()
            };
            let branches: Vec<_> = branches[..count]
                .iter()
                .map(|branch| values(branch, root))
                .collect();
            let own = object(schema, root);
            return (own, proptest::strategy::Union::new(branches))
                .prop_map(|(own, chosen)| merged(own, chosen))
                .boxed();
        }
    }
    match &schema["type"] {
        Value::Array(types) => {
            let of_each: Vec<_> = types
                .iter()
                .map(|one| of_type(one.as_str().expect("a type is a string"), schema, root))
                .collect();
            proptest::strategy::Union::new(of_each).boxed()
        }
        Value::String(one) => of_type(one, schema, root),
        _ => any_value(),
    }
}

fn of_type(name: &str, schema: &Value, root: &Root<'_>) -> BoxedStrategy<Value> {
    match name {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            let least = schema["minimum"].as_u64().unwrap_or(0);
            let most = schema["maximum"].as_u64().unwrap_or(u64::MAX);
            let written_as_one =
                prop_oneof![Just(least), Just(most), least..=most].prop_map(Value::from);
            // `3.0` is an integer too. Above 2^53, floats cannot represent every integer.
            let small = least..=most.min(1 << 53).max(least);
            let with_a_point = small.prop_map(|number| Value::from(as_float(number)));
            prop_oneof![3 => written_as_one, 1 => with_a_point].boxed()
        }
        "number" => prop_oneof![Just(0.0), Just(0.0123), -1e9..1e9_f64]
            .prop_map(Value::from)
            .boxed(),
        "string" => text(schema).prop_map(Value::from).boxed(),
        "array" => {
            let items = if schema["items"].is_null() {
                any_value()
            } else {
                values(&schema["items"], root)
            };
            proptest::collection::vec(items, 0..3)
                .prop_map(Value::from)
                .boxed()
        }
        "object" => object(schema, root).prop_map(Value::Object).boxed(),
        other => panic!("unsupported type in a schema: {other}"),
    }
}

fn object(schema: &Value, root: &Root<'_>) -> BoxedStrategy<Map<String, Value>> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut fields: Vec<BoxedStrategy<Option<(String, Value)>>> = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let (name, needed) = (name.clone(), required.contains(&name.as_str()));
        let value = values(property, root);
        let field = (value, any::<bool>())
            .prop_map(move |(value, there)| (needed || there).then(|| (name.clone(), value)));
        fields.push(field.boxed());
    }
    let others = match &schema["additionalProperties"] {
        below @ Value::Object(_) => values(below, root),
        _ => any_value(),
    };
    fields.push(
        (others, any::<bool>())
            .prop_map(|(value, there)| there.then(|| ("x_other".to_owned(), value)))
            .boxed(),
    );
    fields
        .prop_map(|fields| fields.into_iter().flatten().collect())
        .boxed()
}

fn merged(own: Map<String, Value>, chosen: Value) -> Value {
    match chosen {
        Value::Object(chosen) => own.into_iter().chain(chosen).collect::<Map<_, _>>().into(),
        other => other,
    }
}

fn text(schema: &Value) -> BoxedStrategy<String> {
    if schema["format"] == "date-time" {
        return Just("2026-04-19T11:30:00Z".to_owned()).boxed();
    }
    match schema["pattern"].as_str() {
        // Select typical paths instead of generating them from the pattern.
        Some(paths) if paths.contains("$cwd") => proptest::sample::select(vec![
            "/", "/a", "~", "~/b", "$cwd", "$cwd/c", "$data", ".", "./d",
        ])
        .prop_map(str::to_owned)
        .boxed(),
        Some(pattern) => {
            let inner = pattern.trim_start_matches('^').trim_end_matches('$');
            proptest::string::string_regex(inner)
                .expect("the pattern is valid")
                .boxed()
        }
        None if schema["minLength"] == 1 => "\\PC{1,8}".boxed(),
        None => prop_oneof![
            Just(String::new()),
            "\\PC{0,8}",
            Just("\u{0}\u{1b}[31m\u{2028}\"\\\u{1f980}".to_owned())
        ]
        .boxed(),
    }
}

fn any_value() -> BoxedStrategy<Value> {
    proptest::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([1, [2]]),
        json!({"a": {"b": null}}),
    ])
    .boxed()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only for numbers of at most 2^53"
)]
fn as_float(number: u64) -> f64 {
    number as f64
}
