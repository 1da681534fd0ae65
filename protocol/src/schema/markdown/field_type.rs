//! Describes the type of a field in a few words.

use serde_json::Value;

/// Returns the type of a field: `string`, `list of strings`, or a link to a definition.
pub(super) fn field_type(field: &Value) -> String {
    if let Some(link) = field["$ref"].as_str() {
        return definition(link);
    }
    // Omit `null`: every optional field accepts it, and the page states that once for all fields.
    if let Some(branches) = field["anyOf"].as_array() {
        let types = branches
            .iter()
            .filter(|it| it["type"] != "null")
            .map(field_type);
        return types.collect::<Vec<_>>().join(" or ");
    }
    if let Some(only) = field.get("const") {
        return format!("`{only}`");
    }
    let described = field["description"].as_str().unwrap_or_default();
    if field["enum"].is_array() && !described.contains("\n- ") {
        return names(&field["enum"]);
    }
    let types: Vec<&str> = match &field["type"] {
        Value::String(only) => vec![only],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let types: Vec<String> = types
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| of_type(name, field))
        .collect();
    if types.is_empty() {
        "anything".to_owned()
    } else {
        types.join(" or ")
    }
}

fn names(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten();
    let names = names
        .filter_map(Value::as_str)
        .map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

fn definition(link: &str) -> String {
    let name = link.rsplit('/').next().unwrap_or_default();
    format!("[{name}](#{})", name.to_lowercase())
}

fn of_type(name: &str, field: &Value) -> String {
    match name {
        "array" if field["items"]["properties"].is_object() => "list of objects".to_owned(),
        "array" => {
            let item = field_type(&field["items"]);
            match item.strip_prefix("string") {
                Some(rest) => format!("list of strings{rest}"),
                None => format!("list of {item}"),
            }
        }
        "integer" => format!("integer{}", range(field)),
        "string" if field["examples"].is_array() => {
            format!("string: {}", names(&field["examples"]))
        }
        other => other.to_owned(),
    }
}

/// Returns the range of an integer, unless it is the full range of its type.
fn range(field: &Value) -> String {
    let bounds = (field["minimum"].as_u64(), field["maximum"].as_u64());
    match bounds {
        (Some(least), Some(most)) if most < u64::from(u32::MAX) => format!(" {least} to {most}"),
        _ => String::new(),
    }
}
