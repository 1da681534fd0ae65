//! Shrinking terminates, and reaches the smallest arguments that still fail.

use serde_json::{Value, json};
use zot_protocol::Object;

use super::object;
use crate::arguments::smaller;

/// Repeatedly takes the first variant that still fails.
fn shrunk(start: Value, fails: impl Fn(&Object) -> bool) -> Value {
    let mut args = object(start);
    for _ in 0..10_000 {
        match smaller(&args).into_iter().find(|less| fails(less)) {
            Some(less) => args = less,
            None => return Value::Object(args),
        }
    }
    panic!("does not terminate: {args:?}");
}

fn start() -> Value {
    json!({
        "city": "Neustadt \"an\" der Weinstraße 🦀",
        "days": 1234,
        "ratio": -1234.5,
        "big": u64::MAX,
        "huge": 1e300,
        "deep": {"list": [1, [2, 3, {"x": true}], "long enough to be cut", null], "on": true},
        "tags": (0..100).collect::<Vec<_>>(),
    })
}

#[test]
fn shrinking_reaches_the_smallest_failing_arguments() {
    let quote = |args: &Object| {
        args.get("city")
            .and_then(Value::as_str)
            .is_some_and(|city| city.contains('"'))
    };
    assert_eq!(shrunk(start(), quote), json!({"city": "\""}));

    let over = |args: &Object| {
        args.get("days")
            .and_then(Value::as_i64)
            .is_some_and(|days| days > 99)
    };
    assert_eq!(shrunk(start(), over), json!({"days": 100}));

    let below = |args: &Object| {
        args.get("ratio")
            .and_then(Value::as_f64)
            .is_some_and(|ratio| ratio < -7.0)
    };
    assert_eq!(shrunk(start(), below), json!({"ratio": -8}));

    let deep = |args: &Object| {
        Value::Object(args.clone()).pointer("/deep/list/1/2/x") == Some(&json!(true))
    };
    assert_eq!(
        shrunk(start(), deep),
        json!({"deep": {"list": [0, [0, 0, {"x": true}]]}})
    );

    let tagged = |args: &Object| {
        args.get("tags")
            .and_then(Value::as_array)
            .is_some_and(|tags| tags.contains(&json!(77)))
    };
    assert_eq!(shrunk(start(), tagged), json!({"tags": [77]}));

    let two = |args: &Object| args.contains_key("big") && args.contains_key("huge");
    assert_eq!(shrunk(start(), two), json!({"big": 0, "huge": 0}));
}

#[test]
fn the_empty_object_is_tried_first() {
    assert_eq!(smaller(&object(start())).first(), Some(&Object::new()));
    assert_eq!(smaller(&Object::new()), Vec::<Object>::new());
}

#[test]
fn even_the_slowest_shrinking_terminates() {
    let mut args =
        object(json!({"a": "ab\"", "b": [9, -9, 2.5, true], "c": {"d": null, "e": "x"}}));
    let mut steps = 0;
    // The worst possible shrinker always takes the least promising variant.
    while let Some(less) = smaller(&args).pop() {
        args = less;
        steps += 1;
        assert!(steps < 1_000, "{args:?}");
    }
    assert_eq!(args, Object::new());
}

#[test]
fn numbers_only_shrink_towards_zero() {
    for number in [
        json!(1),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(-0.75),
        json!(5e-324),
    ] {
        for less in smaller(&object(json!({"n": number}))) {
            let (less, number) = (
                less.get("n").map_or(Some(0.0), Value::as_f64),
                number.as_f64(),
            );
            assert!(
                less.map(f64::abs) <= number.map(f64::abs),
                "{less:?} {number:?}"
            );
        }
    }
}

#[test]
fn a_long_string_shrinks_in_few_steps() {
    let start = json!({"text": "x".repeat(100_000)});
    let made = shrunk(start, |args| {
        args.get("text")
            .and_then(Value::as_str)
            .is_some_and(|text| text.len() >= 100)
    });
    assert_eq!(made["text"].as_str().map(str::len), Some(100));
}
