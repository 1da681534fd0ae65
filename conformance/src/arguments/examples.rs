//! Example and default values that the schema itself contains.

use serde_json::Value;

use super::{boundaries::shown, positions::Position};

/// The kind of values to take from a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Annotation {
    /// The `examples`.
    Examples,
    /// The values of `default` and `const`.
    Defaults,
}

impl Annotation {
    /// Returns each value in the schema with the word that describes it.
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

/// Returns the values for the whole schema.
pub(super) fn of_whole(schema: &Value, given: Annotation) -> Vec<(Value, String)> {
    let values = given
        .values(|keyword| schema.get(keyword))
        .into_iter()
        .enumerate();
    values
        .map(|(index, (value, word))| (value.clone(), format!("{word} {}", index + 1)))
        .collect()
}

/// Returns the values for one position, each inserted into the smallest arguments.
pub(super) fn of_part(position: &Position<'_>, given: Annotation) -> Vec<(Value, String)> {
    // `of_whole` covers the values for the root.
    if position.path.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for leaf in position.leaves() {
        for (value, word) in given.values(|keyword| leaf.get(keyword)) {
            let why = format!("{} = {}, its {word}", position.pointer, shown(value));
            found.push((position.with(value.clone()), why));
        }
    }
    found
}
