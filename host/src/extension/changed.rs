//! Finds the parts of an event that a rewrite changes, as JSON pointers.

use serde_json::Value;
use zot_protocol::{Content, Object};

/// The maximum number of pointers. A rewrite with more changes is recorded incompletely.
const MAX_POINTERS: usize = 32;
/// The maximum length of a pointer, in bytes. The names in it are untrusted and can be long.
const MAX_BYTES: usize = 200;

/// Returns pointers to the fields that differ between two objects. `place` is the pointer to the
/// object in the event.
pub(super) fn in_object(place: &str, before: &Object, after: &Object) -> Vec<String> {
    let mut pointers = Vec::new();
    objects(place, before, after, &mut pointers);
    pointers
}

/// Returns pointers to the blocks that differ between two lists. `place` is the pointer to the list
/// in the event. If the lengths differ, returns only `place`.
pub(super) fn in_content(place: &str, before: &[Content], after: &[Content]) -> Vec<String> {
    if before.len() != after.len() {
        return vec![place.to_owned()];
    }
    let pairs = before.iter().zip(after).enumerate();
    let changed = pairs.filter(|(_, (before, after))| before != after);
    let pointers = changed.map(|(index, _)| format!("{place}/{index}"));
    pointers.take(MAX_POINTERS).collect()
}

fn objects(place: &str, before: &Object, after: &Object, pointers: &mut Vec<String>) {
    for (name, value) in before {
        if let Some(after) = after.get(name) {
            values(&below(place, name), value, after, pointers);
        }
    }
    // The name of a field that was added or removed may be what a redactor replaced.
    let is_same = before.len() == after.len() && before.keys().all(|it| after.contains_key(it));
    if !is_same && pointers.len() < MAX_POINTERS {
        pointers.push(place.to_owned());
    }
}

fn values(place: &str, before: &Value, after: &Value, pointers: &mut Vec<String>) {
    if pointers.len() == MAX_POINTERS || before == after {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => objects(place, before, after, pointers),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                values(&format!("{place}/{index}"), before, after, pointers);
            }
        }
        _ => pointers.push(place.to_owned()),
    }
}

fn below(place: &str, name: &str) -> String {
    let mut pointer = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    pointer.truncate(pointer.floor_char_boundary(MAX_BYTES));
    pointer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointers(before: &Value, after: &Value) -> Vec<String> {
        let object = |value: &Value| value.as_object().unwrap().clone();
        in_object("/tool_args", &object(before), &object(after))
    }

    #[test]
    fn pointers_name_the_innermost_change() {
        for (before, after, changed) in [
            (json!({"a": 1}), json!({"a": 1}), vec![]),
            (json!({"a": 1, "b": 2}), json!({"b": 3}), vec!["/b", ""]),
            (json!({}), json!({"secret": 1}), vec![""]),
            (json!({"x/y~": 0}), json!({"x/y~": 1}), vec!["/x~1y~0"]),
            (
                json!({"edits": [{"old": "a", "new": "b"}, {"old": "c"}]}),
                json!({"edits": [{"old": "a", "new": "x"}, {"old": "c"}]}),
                vec!["/edits/0/new"],
            ),
            (json!({"list": [1]}), json!({"list": [1, 2]}), vec!["/list"]),
            (json!({"a": {"b": 1}}), json!({"a": "b"}), vec!["/a"]),
        ] {
            let changed: Vec<String> = changed.iter().map(|it| format!("/tool_args{it}")).collect();
            assert_eq!(pointers(&before, &after), changed, "{before} {after}");
        }
        let many = |value: i32| (0..100).map(|at| (at.to_string(), value.into())).collect();
        assert_eq!(in_object("", &many(1), &many(2)).len(), MAX_POINTERS);
        let long = |value: i32| Object::from_iter([("ä".repeat(500), value.into())]);
        assert!(in_object("", &long(1), &long(2))[0].len() <= MAX_BYTES);
    }

    #[test]
    fn content_is_compared_by_block() {
        let texts =
            |texts: &[&str]| -> Vec<Content> { texts.iter().copied().map(Content::text).collect() };
        let before = texts(&["a", "b"]);
        let changed = |after: &[&str]| in_content("/content", &before, &texts(after));
        assert_eq!(changed(&["a", "c"]), ["/content/1"]);
        assert_eq!(changed(&["a"]), ["/content"]);
    }
}
