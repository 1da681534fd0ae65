//! Accepting observed values into a transcript.

use serde_json::{Value, json};
use zot_conform::transcript::{Bindings, Place, Places, Seen, accept, accept_text, parse};

/// Returns the expected frame after accepting `seen`.
fn accepted(expected: &Value, seen: Value, bindings: &Bindings) -> Value {
    let given = r#"{"send":{"id":{"$new":"a"},"b":{"$new":"b"}}}"#;
    let text = format!("{{\"zt\":1}}\n{given}\n{}\n", json!({"expect": expected}));
    let transcript = parse(&text).unwrap();
    let mut all = Seen::default();
    all.at(1, seen);
    let accepted = accept(&transcript, &all, bindings).to_text();
    parse(&accepted).unwrap_or_else(|error| panic!("{error}\n{accepted}"));
    let line: Value = serde_json::from_str(accepted.lines().nth(2).unwrap()).unwrap();
    line["expect"].clone()
}

#[test]
fn literals_change_and_matching_matchers_stay() {
    let places = Places::default().with(Place::Cwd, "/home/ann");
    let mut bindings = Bindings::new(places);
    bindings.bind("a", json!("zt1-a"));
    bindings.bind("b", json!("zt2-b"));
    let cases = [
        (
            json!({"t": "old", "n": {"$type": "number"}}),
            json!({"t": "new", "n": 2, "more": 1}),
            json!({"t": "new", "n": {"$type": "number"}}),
        ),
        (
            json!({"t": {"$re": "^a"}}),
            json!({"t": "b"}),
            json!({"t": "b"}),
        ),
        (
            json!({"t": "took [..]"}),
            json!({"t": "needed 13s in /home/ann/x"}),
            json!({"t": "needed [..] in [..]/x"}),
        ),
        (
            json!({"t": "took [..]"}),
            json!({"t": "took 13s"}),
            json!({"t": "took [..]"}),
        ),
        (
            json!({"gone": 1, "kept": 2}),
            json!({"kept": 2}),
            json!({"kept": 2}),
        ),
        (
            json!({"gone": {"$absent": true}, "x": 1}),
            json!({"x": 2}),
            json!({"gone": {"$absent": true}, "x": 2}),
        ),
        (
            json!({"$exact": true, "a": 1}),
            json!({"a": 1, "$b": "[..]"}),
            json!({"$exact": true, "a": 1, "$$b": {"$lit": "[..]"}}),
        ),
        (
            json!([{"$any": true}, 1]),
            json!([5, 2, 3]),
            json!([{"$any": true}, 2, 3]),
        ),
        (json!([1, 2, 3]), json!([1]), json!([1])),
        (
            json!({"id": {"$ref": "a"}, "x": 1}),
            json!({"id": "zt2-b", "x": 1}),
            json!({"id": {"$ref": "b"}, "x": 1}),
        ),
        (
            json!({"id": {"$ref": "a"}, "x": 1}),
            json!({"id": "zt1-a", "x": 2}),
            json!({"id": {"$ref": "a"}, "x": 2}),
        ),
        (
            json!({"id": {"$cap": "c", "as": "old"}, "d": {"$ref": "c"}}),
            json!({"id": "new", "d": "new"}),
            json!({"id": {"$cap": "c", "as": "new"}, "d": {"$ref": "c"}}),
        ),
        (
            json!({"id": {"$cap": "c"}, "x": 1}),
            json!({"x": 2}),
            json!({"id": {"$cap": "c"}, "x": 2}),
        ),
        (json!({"n": 1}), json!({"n": 1.0}), json!({"n": 1})),
        (
            json!({"o": {"$lit": {"a": 1}}}),
            json!({"o": {"a": 2}}),
            json!({"o": {"a": 2}}),
        ),
    ];
    for (expected, seen, after) in cases {
        let wrap = |value: Value| json!({"type": "x", "v": value});
        let got = accepted(&wrap(expected.clone()), wrap(seen.clone()), &bindings);
        assert_eq!(got["v"], after, "{expected} saw {seen}");
    }
}

#[test]
fn unchanged_lines_keep_their_formatting() {
    let text = concat!(
        "{ \"zt\": 1 }\r\n",
        "\r\n",
        "{\"#\":  \"a comment\"}\r\n",
        "{ \"expect\": {\"type\": \"a\"},  \"within\": \"1000ms\" }\r\n",
        "{ \"expect\": {\"type\": \"b\", \"x\": {\"$any\":true}, \"y\": 1}, \"within\": \"2s\", \"optional\": true }\r\n",
        "{ \"unordered\": [ {\"type\":\"c\"}, {\"type\":\"d\", \"n\": 1} ] }\r\n",
        "{ \"exit\": { \"code\": 0 } }",
    );
    let transcript = parse(text).unwrap();
    let mut seen = Seen::default();
    seen.at(1, json!({"type": "a", "x": 1}));
    seen.at(2, json!({"type": "b", "x": 1, "y": 2}));
    seen.item(3, 1, json!({"type": "d", "n": 2}));
    seen.at(4, json!({"code": 1}));
    let bindings = Bindings::default();
    let accepted = accept_text(text, &transcript, &seen, &bindings);
    insta::assert_snapshot!(accepted.replace("\r\n", "<CR>\n"));
    let again = parse(&accepted).unwrap();
    assert_eq!(again, accept(&transcript, &seen, &bindings));
}
