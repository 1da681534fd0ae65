//! Values that the schema itself gives.

use serde_json::Value;

use super::{boundaries::shown, spots::Spot};

/// What a schema says of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// How it is to be used.
    Examples,
    /// What is meant where nothing is given, and what nothing else may be.
    Defaults,
}

impl Given {
    /// Each value that a schema gives, and the word for it.
    fn values<'v>(self, get: impl Fn(&str) -> Option<&'v Value>) -> Vec<(&'v Value, &'static str)> {
        match self {
            Self::Examples => {
                let listed = get("examples").and_then(Value::as_array);
                let examples = listed.into_iter().flatten();
                examples.map(|value| (value, "example")).collect()
            }
            Self::Defaults => ["default", "const"]
                .into_iter()
                .filter_map(|keyword| Some((get(keyword)?, keyword)))
                .collect(),
        }
    }
}

/// What is given for the whole.
pub(super) fn of_whole(schema: &Value, given: Given) -> Vec<(Value, String)> {
    let values = given
        .values(|keyword| schema.get(keyword))
        .into_iter()
        .enumerate();
    values
        .map(|(index, (value, word))| (value.clone(), format!("{word} {}", index + 1)))
        .collect()
}

/// What is given for a part, each put into the smallest arguments.
pub(super) fn of_part(spot: &Spot<'_>, given: Given) -> Vec<(Value, String)> {
    // Those of the whole have been taken as they are.
    if spot.path.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for leaf in spot.leaves() {
        for (value, word) in given.values(|keyword| leaf.get(keyword)) {
            let why = format!("{} = {}, its {word}", spot.pointer, shown(value));
            found.push((spot.with(value.clone()), why));
        }
    }
    found
}
