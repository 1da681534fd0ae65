//! Recognises simple schemas, which most tools have, as valid without compiling them.
//!
//! A compiled schema takes memory and is only needed to check values, and most tools validate their
//! arguments themselves. Schemas that are not recognised here are compiled immediately, to find out
//! whether they are valid.

use serde_json::Value;

const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Returns whether the schema is certain to compile. `false` means that it may or may not.
pub(super) fn is_simple(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else {
        return schema.is_boolean();
    };
    keywords
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "type" => match value {
                Value::Array(several) => {
                    !several.is_empty()
                        && are_distinct_strings(several)
                        && several.iter().all(is_type)
                }
                one => is_type(one),
            },
            "title" | "description" => value.is_string(),
            "default" | "const" => true,
            "enum" => value
                .as_array()
                .is_some_and(|values| !values.is_empty() && are_distinct_strings(values)),
            "properties" => value
                .as_object()
                .is_some_and(|fields| fields.values().all(is_simple)),
            "required" => value.as_array().is_some_and(|names| {
                names.iter().all(Value::is_string) && are_distinct_strings(names)
            }),
            "items" | "additionalProperties" => is_simple(value),
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

/// Returns whether the values are distinct strings. Returns `false` for long lists, which are not
/// compared.
fn are_distinct_strings(values: &[Value]) -> bool {
    let few = values.len() <= 64;
    few && values
        .iter()
        .enumerate()
        .all(|(index, value)| value.is_string() && !values[..index].contains(value))
}
