//! Schemas as nearly all tools have them, which are seen to be right without compiling them.
//!
//! A compiled schema takes memory, and is only needed where a tool's values are checked: most tools check their arguments
//! themselves. What is not plainly right here is compiled at once, and judged and explained by that.

use serde_json::Value;

const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Whether this is a schema that compiles. `false` says nothing.
pub(super) fn is_ordinary(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else {
        return schema.is_boolean();
    };
    keywords
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "type" => match value {
                Value::Array(several) => {
                    !several.is_empty() && are_different(several) && several.iter().all(is_type)
                }
                one => is_type(one),
            },
            "title" | "description" => value.is_string(),
            "default" | "const" => true,
            "enum" => value
                .as_array()
                .is_some_and(|values| !values.is_empty() && are_different(values)),
            "properties" => value
                .as_object()
                .is_some_and(|fields| fields.values().all(is_ordinary)),
            "required" => value
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string) && are_different(names)),
            "items" | "additionalProperties" => is_ordinary(value),
            "minimum" | "maximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => {
                value.as_u64().is_some_and(|count| count <= u32::MAX.into())
            }
            _ => false,
        })
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Texts that are all different; of other values nothing is said, nor of more than a few.
fn are_different(values: &[Value]) -> bool {
    let few = values.len() <= 64;
    few && values
        .iter()
        .enumerate()
        .all(|(index, value)| value.is_string() && !values[..index].contains(value))
}
