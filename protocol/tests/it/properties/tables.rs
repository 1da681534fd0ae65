//! What is accepted by a table is what the schema accepts: values that fit, with one thing changed.

use proptest::prelude::*;
use serde_json::{Value, json};
use zot_protocol::{
    Config, FromExtension, Manifest, rpc,
    schema::{self, of_frame},
    validate::{self, ToolSchema, Validated},
};

use super::{from_schema::values_of, runner};

/// What is put in the place of something else.
fn odd() -> impl Strategy<Value = Value> {
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

/// How many places a value has, itself included.
fn places(value: &Value) -> usize {
    let below: usize = match value {
        Value::Object(object) => object.values().map(places).sum(),
        Value::Array(list) => list.iter().map(places).sum(),
        _ => 0,
    };
    1 + below
}

/// Changes the place of this number, counted as [`places`] does; `None` takes it out of its object.
fn change(value: &mut Value, at: &mut usize, into: Option<&Value>) {
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

fn of_set<F: Validated>() {
    for name in F::NAMES {
        let document = of_frame::<F>(name).expect("a frame of the list");
        verdicts_agree(&document, |value| validate::value::<F>(value).is_ok());
    }
}

#[test]
fn of_frames() {
    of_set::<FromExtension>();
    of_set::<rpc::Command>();
}

#[test]
fn of_files() {
    verdicts_agree(&schema::of_type::<Manifest>("manifest"), |value| {
        validate::manifest(value.to_string().as_bytes()).is_ok()
    });
    verdicts_agree(&schema::of_type::<Config>("config"), |value| {
        let (_, refused) = validate::config(value.to_string().as_bytes());
        refused.is_empty()
    });
}
