//! What the schema itself gives as examples.

use serde_json::Value;

use super::{boundaries::shown, spots::Spot};

/// Keywords that give one value.
const ONE: &[&str] = &["default", "const"];

/// The examples of the whole.
pub(super) fn of_whole(schema: &Value) -> Vec<(Value, String)> {
    let listed = schema.get("examples").and_then(Value::as_array);
    let examples = listed.into_iter().flatten().enumerate();
    let numbered = examples.map(|(index, value)| (value.clone(), format!("example {}", index + 1)));
    let default = schema.get("default");
    numbered
        .chain(default.map(|value| (value.clone(), "the default".to_owned())))
        .collect()
}

/// The examples of a part, each put into the smallest arguments.
pub(super) fn of_part(spot: &Spot<'_>) -> Vec<(Value, String)> {
    // Those of the whole have been taken as they are.
    if spot.path.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for leaf in spot.leaves() {
        let listed = leaf.get("examples").and_then(Value::as_array);
        let examples = listed.into_iter().flatten().map(|value| (value, "example"));
        let single = ONE
            .iter()
            .filter_map(|keyword| Some((leaf.get(keyword)?, *keyword)));
        for (value, word) in examples.chain(single) {
            let why = format!("{} = {}, its {word}", spot.pointer, shown(value));
            found.push((spot.with(value.clone()), why));
        }
    }
    found
}
