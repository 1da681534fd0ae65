//! Matching patterns and filling in templates.

use serde_json::{Value, json};
use zot_conform::transcript::{Bindings, Place, Places, Template, matches};

fn fits(expected: &Value, actual: &Value) -> bool {
    matches(expected, actual, &mut Bindings::default()).is_ok()
}

fn mismatch(expected: &Value, actual: &Value) -> String {
    matches(expected, actual, &mut Bindings::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn each_matcher_matches_what_it_should() {
    let cases = [
        (json!(1), json!(1.0), true),
        (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            false,
        ),
        (json!(0.1), json!(0.1), true),
        (json!(null), json!(null), true),
        (json!("a [..] c"), json!("a b c"), true),
        (json!("a [..] c"), json!(["a b c"]), false),
        (json!({"$any": true}), json!(null), true),
        (json!({"a": {"$any": true}}), json!({}), false),
        (json!({"$type": "integer"}), json!(2.0), true),
        (json!({"$type": "integer"}), json!(2.5), false),
        (json!({"$type": "number"}), json!("2"), false),
        (json!({"$re": "^a+$"}), json!("aa"), true),
        (json!({"$re": "a"}), json!("bab"), true),
        (json!({"$re": "1"}), json!(1), false),
        (json!({"$oneOf": [1, "a"]}), json!("a"), true),
        (json!({"$oneOf": [1, "a"]}), json!("b"), false),
        (json!({"a": {"$absent": true}}), json!({}), true),
        (json!({"a": {"$absent": true}}), json!({"a": null}), true),
        (json!({"a": {"$absent": true}}), json!({"a": 0}), false),
        (
            json!({"a": {"$oneOf": [{"$absent": true}, ""]}}),
            json!({}),
            true,
        ),
        (
            json!({"$contains": [2, {"a": 1}]}),
            json!([{"a": 1, "b": 2}, 3, 2]),
            true,
        ),
        (json!({"$contains": [4]}), json!([3, 2]), false),
        (json!({"$contains": []}), json!("x"), false),
        (json!({"$schema": {"minLength": 2}}), json!("ab"), true),
        (json!({"$schema": {"minLength": 2}}), json!("a"), false),
        (json!({"$lit": "[..]"}), json!("[..]"), true),
        (json!({"$lit": "[..]"}), json!("x"), false),
        (json!({"$lit": {"$any": true}}), json!({"$any": true}), true),
        (json!({"$lit": {"a": 1}}), json!({"a": 1, "b": 2}), false),
        (json!({"$lit": [1]}), json!([1.0]), true),
        (json!({"a": 1}), json!({"b": 2, "a": 1}), true),
        (
            json!({"$exact": true, "a": {}}),
            json!({"a": {"b": 1}}),
            true,
        ),
        (
            json!({"$exact": true, "a": 1}),
            json!({"a": 1, "b": 2}),
            false,
        ),
        (
            json!({"$exact": true, "a": {"$absent": true}}),
            json!({}),
            true,
        ),
        (json!({"$$ref": 1}), json!({"$ref": 1}), true),
        (json!([1, 2]), json!([1]), false),
        (json!([1]), json!([1, 2]), false),
        (json!([]), json!([]), true),
        (json!({"$ref": "nobody"}), json!("x"), false),
    ];
    for (expected, actual, should) in cases {
        assert_eq!(fits(&expected, &actual), should, "{expected} {actual}");
    }
}

#[test]
fn a_mismatch_names_pointer_expected_and_actual() {
    let messages = [
        mismatch(&json!({"a/b": [{"c": "x"}]}), &json!({"a/b": [{"c": "y"}]})),
        mismatch(&json!({"a": "x [..]"}), &json!({})),
        mismatch(&json!([1, {"$type": "string"}]), &json!([1])),
        mismatch(&json!([1]), &json!([1, 2])),
        mismatch(&json!({"$exact": true, "a": 1}), &json!({"a": 1, "b": 2})),
        mismatch(&json!({"$lit": {"a": [1, 2]}}), &json!({"a": [1, 3]})),
        mismatch(
            &json!({"a": {"$oneOf": ["x", {"b": 1}]}}),
            &json!({"a": {"b": 2}}),
        ),
        mismatch(
            &json!({"a": {"$contains": [{"t": "x"}]}}),
            &json!({"a": [1]}),
        ),
        mismatch(
            &json!({"a": {"$schema": {"type": "string"}}}),
            &json!({"a": 1}),
        ),
        mismatch(&json!({"a": {"$absent": true}}), &json!({"a": 1})),
        mismatch(&json!({"$re": "^a"}), &json!("b")),
        mismatch(&json!("x"), &json!("é".repeat(300))),
        mismatch(&json!({"$nope": 1}), &json!(1)),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_captured_value_can_be_referenced() {
    let mut bindings = Bindings::default();
    let open = json!({"id": {"$cap": "p", "as": {"$type": "string"}}, "again": {"$ref": "p"}});
    matches(&open, &json!({"id": "x", "again": "x"}), &mut bindings).unwrap();
    assert_eq!(bindings.get("p"), Some(&json!("x")));
    let render = json!({"panel_id": {"$ref": "p"}});
    assert!(matches(&render, &json!({"panel_id": "x"}), &mut bindings).is_ok());
    assert!(matches(&render, &json!({"panel_id": "y"}), &mut bindings).is_err());
}

#[test]
fn a_failed_match_leaves_no_capture() {
    let mut bindings = Bindings::default();
    let expected = json!({"a": {"$cap": "x"}, "b": 1});
    matches(&expected, &json!({"a": 1, "b": 2}), &mut bindings).unwrap_err();
    assert_eq!(bindings.get("x"), None);

    let expected = json!({"$oneOf": [
        {"a": {"$cap": "first"}, "b": 1},
        {"a": {"$cap": "second"}, "b": 2},
    ]});
    matches(&expected, &json!({"a": 1, "b": 2}), &mut bindings).unwrap();
    assert_eq!(
        (bindings.get("first"), bindings.get("second")),
        (None, Some(&json!(1)))
    );

    let expected = json!({"$contains": [{"a": {"$cap": "item"}, "b": 2}]});
    matches(
        &expected,
        &json!([{"a": 1, "b": 1}, {"a": 2, "b": 2}]),
        &mut bindings,
    )
    .unwrap();
    assert_eq!(bindings.get("item"), Some(&json!(2)));
}

#[test]
fn templates_are_filled_in() {
    let places = Places::default().with(Place::Cwd, "/w");
    let mut bindings = Bindings::new(places);
    let template = Template::new(json!({
        "id": {"$new": "a"}, "same": {"$ref": "a"}, "other": [{"$new": "b"}],
        "path": {"$fill": "${cwd}/x$$"}, "$$ref": {"$lit": {"$any": "[..]"}},
    }))
    .unwrap();
    let sent = template.fill(&mut bindings).unwrap();
    assert_eq!(
        sent,
        json!({
            "id": "zt1-a", "same": "zt1-a", "other": ["zt2-b"],
            "path": "/w/x$", "$ref": {"$any": "[..]"},
        })
    );
    let unknown = Template::new(json!({"id": {"$new": "c"}, "p": {"$fill": "${tmp}"}})).unwrap();
    assert_eq!(
        unknown.fill(&mut bindings).unwrap_err().to_string(),
        "/p: `${tmp}` has no value in this run"
    );
    assert_eq!(bindings.get("c"), None);
}

#[test]
fn new_ids_are_valid_and_unique() {
    let mut bindings = Bindings::default();
    let long = "x".repeat(64);
    let ids = [
        bindings.mint(&long),
        bindings.mint(&long),
        bindings.mint("a b/ü"),
    ];
    for (index, id) in ids.iter().enumerate() {
        assert!(id.len() <= 64 && !ids[..index].contains(id), "{id}");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(id.bytes().all(is_plain), "{id}");
    }
}
