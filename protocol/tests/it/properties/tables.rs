//! The tables accept nothing that the schemas reject, and every line decodes to the same frame as
//! its parsed value. The inputs are valid values with one location changed.

use proptest::prelude::*;
use serde_json::{Value, json};
use zot_protocol::{
    Config, FromExtension, Manifest, rpc,
    schema::{self, of_frame},
    validate::{self, ToolSchema, Validated},
};

use super::{from_schema::values_of, runner};

/// Generates replacement values.
pub(super) fn odd() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(1000),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("/a b"),
        json!("~/x"),
        json!("allow"),
        json!("text"),
        json!("open_panel"),
        json!("x".repeat(65)),
        json!([]),
        json!([null]),
        json!(["a", 1]),
        json!([{"type": "text"}, {"type": "image", "mime_type": "image/png", "data": ""}]),
        json!([{"type": "image"}]),
        json!({}),
        json!({"type": "text", "text": null}),
        json!({"type": "object", "properties": []}),
        json!({"id": ""}),
        json!({"id": "p", "lines": ["a"]}),
    ])
}

/// Returns the number of locations in a value, including itself.
pub(super) fn places(value: &Value) -> usize {
    let below: usize = match value {
        Value::Object(object) => object.values().map(places).sum(),
        Value::Array(list) => list.iter().map(places).sum(),
        _ => 0,
    };
    1 + below
}

/// Changes the location with this number, counted as in [`places`]. `None` removes a field, and
/// replaces a list item with `null`.
pub(super) fn change(value: &mut Value, at: &mut usize, into: Option<&Value>) {
    match value {
        Value::Object(object) => {
            let keys: Vec<String> = object.keys().cloned().collect();
            for key in keys {
                *at = at.wrapping_sub(1);
                match (*at, into) {
                    (0, Some(into)) => object[&key] = into.clone(),
                    (0, None) => drop(object.shift_remove(&key)),
                    _ => change(&mut object[&key], at, into),
                }
                if *at == 0 {
                    return;
                }
            }
        }
        Value::Array(list) => {
            for item in list {
                *at = at.wrapping_sub(1);
                if *at == 0 {
                    *item = into.cloned().unwrap_or_default();
                    return;
                }
                change(item, at, into);
                if *at == 0 {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn verdicts_agree(document: &schema::Document, accepts: impl Fn(&Value) -> bool) {
    let compiled =
        ToolSchema::compile(document.schema.as_object().expect("an object")).expect("compiles");
    let changed = (
        values_of(&document.schema),
        any::<prop::sample::Index>(),
        proptest::option::weighted(0.8, odd()),
    );
    let run = runner().run(&changed, |(mut value, index, into)| {
        let tag = value.get("type").cloned();
        let mut at = 1 + index.index(places(&value));
        change(&mut value, &mut at, into.as_ref());
        if value.get("type") != tag.as_ref() {
            return Ok(());
        }
        prop_assert_eq!(accepts(&value), compiled.check(&value).is_ok(), "{}", value);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{}: {failure}", document.name));
}

/// Decodes a line step by step: parse, check against the schema, decode.
fn decode_step_by_step<F: Validated>(line: &str) -> Option<F> {
    let mut value = validate::strict_json(line.as_bytes()).ok()?;
    validate::value::<F>(&value).ok()?;
    let name = value[F::TAG].as_str()?.to_owned();
    value.as_object_mut()?.shift_remove(F::TAG);
    F::decode(&name, value).ok()
}

fn of_set<F: Validated + std::fmt::Debug + PartialEq>() {
    for name in F::NAMES {
        let document = of_frame::<F>(name).expect("a listed frame");
        verdicts_agree(&document, |value| {
            let line = value.to_string();
            let frame = validate::frame::<F>(line.as_bytes()).ok();
            assert_eq!(frame, decode_step_by_step::<F>(&line), "{line}");
            validate::value::<F>(value).is_ok()
        });
    }
}

/// Unusual lines that must not be misread.
#[test]
fn unusual_lines_decode_like_their_parsed_value() {
    let lines = [
        r#"{"id":"1","type":"tool_result","content":[]}"#,
        r#" { "type" : "tool_result" , "id" : "1" , "content" : [ { "type" : "text" , "text" : "a" } , { "text" : "b" , "type" : "text" } ] } "#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"text","type":"text"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"text","text":"a","text":"b"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"image","text":"a"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"video"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"text"},]}"#,
        r#"{"type":"tool_result","id":"1","content":[,{"type":"text"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[{"type":"text"} {"type":"text"}]}"#,
        r#"{"type":"tool_result","id":"1","content":[],}"#,
        r#"{"type":"tool_result",,"id":"1","content":[]}"#,
        r#"{,"type":"tool_result","id":"1","content":[]}"#,
        r#"{"type":"tool_result" "id":"1","content":[]}"#,
        r#"{"type":"tool_result","id":"1","content":[]}{}"#,
        r#"{"type":"tool_result","id":"1","content":[]"#,
        r#"{"type":"tool_result","id":"1","id":"1","content":[]}"#,
        r#"{"type":"tool_result","type":"tool_result","id":"1","content":[]}"#,
        r#"{"type":"tool_result","id":"1","content":[],"x":1,"x":2}"#,
        r#"{"type":"tool_result","id":"1","content":[],"x":{"y":1,"y":2}}"#,
        r#"{"type":"tool_result","id":"1","content":[],"structured_content":{"y":1,"y":2}}"#,
        r#"{"type":"tool_result","id":"1","content":[],"structured_content":{"b":-0,"a":1e2,"c":[1.5,null,18446744073709551616]}}"#,
        r#"{"type":"tool_result","id":"1","content":[],"structured_content":null,"is_error":null}"#,
        r#"{"type":"tool_result","id":"1","content":[],"x":1e999}"#,
        r#"{"type":"tool_result","id":"1","content":[],"x":nul}"#,
        r#"{"type":"tool_result","id":1,"content":[]}"#,
        r#"{"type":"tool_result","id":"","content":[]}"#,
        r#"{"type":"tool_result","id":null,"content":[]}"#,
        r#"{"type":"tool_result","content":[]}"#,
        r#"{"type":"tool_result","id":"1","content":null}"#,
        r#"{"ty\u0070e":"tool_result","\u0069d":"a\nb","content":[{"type":"te\u0078t","text":"\ud83d\ude00"}]}"#,
        r#"{"type":"notify","level":"info","message":null}"#,
        r#"{"type":"notify","level":"loud","message":"a"}"#,
        r#"{"type":"notify","level":{"info":null},"message":"a"}"#,
        r#"{"type":"event_intercept_response","id":"1","modified_args":[],"block":true}"#,
        r#"{"type":"command_response","id":"1","action":"open_panel"}"#,
        r#"{"type":"command_response","id":"1","action":"open_panel","open_panel":{"id":"p"}}"#,
        r#"{"type":"register_tool","name":"a","schema":{"type":"object","properties":{"a":{},"a":{}}}}"#,
        r#"{"type":"register_tool","name":"a","schema":{"type":"string"}}"#,
        r#"{"type":"ready"}"#,
        r#"["type","ready"]"#,
        r#""ready""#,
        "",
    ];
    let deep = format!(
        r#"{{"type":"tool_result","id":"1","content":[],"structured_content":{}1{}}}"#,
        "[".repeat(120),
        "]".repeat(120)
    );
    let many: Vec<String> = (0..40)
        .map(|field| format!(r#","f{field}":{field}"#))
        .collect();
    let many = many.concat();
    let many = format!(r#"{{"type":"tool_result","id":"1","content":[]{many}}}"#);
    for line in lines.into_iter().chain([deep.as_str(), many.as_str()]) {
        let frame = validate::frame::<FromExtension>(line.as_bytes()).ok();
        assert_eq!(frame, decode_step_by_step(line), "{line}");
    }
}

#[test]
fn frame_tables_agree_with_the_schemas() {
    of_set::<FromExtension>();
    of_set::<rpc::Command>();
}

#[test]
fn file_tables_agree_with_the_schemas() {
    verdicts_agree(&schema::of_type::<Manifest>("manifest"), |value| {
        validate::manifest(value.to_string().as_bytes()).is_ok()
    });
    verdicts_agree(&schema::of_type::<Config>("config"), |value| {
        let (_, refused) = validate::config(value.to_string().as_bytes());
        refused.is_empty()
    });
}
