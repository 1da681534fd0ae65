//! Moves every variant of a union into a named definition, so that code generators do not invent
//! names such as `Event7`. Also adds a variant for unknown names to the unions that extensions and
//! drivers read.

use schemars::Schema;
use serde_json::{Value, json};

use super::{Frames, Object};

/// Rewrites a document in place. The result accepts the same values, and also events that this
/// version does not know.
pub(super) fn name_variants(document: &mut Value) {
    let Value::Object(root) = document else {
        return;
    };
    distribute(root);
    let mut definitions = match root.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Object::new(),
    };
    let mut found = Vec::new();
    for schema in definitions.values_mut() {
        hoist(schema, &mut found);
    }
    hoist_below(root, &mut found);
    for (name, schema) in found {
        define(&mut definitions, name, schema);
    }
    if !definitions.is_empty() {
        root.insert("$defs".into(), definitions.into());
    }
}

/// Adds a definition. Two different types must not share a name.
pub(super) fn define(definitions: &mut Object, name: String, schema: Value) {
    if let Some(other) = definitions.get(&name) {
        assert!(*other == schema, "two definitions are called {name}");
    }
    definitions.insert(name, schema);
}

/// Moves the properties next to a `oneOf` into each of its branches, and adds a branch for unknown
/// events. Otherwise, code generators merge the outer type and a branch into one unnamed type.
fn distribute(schema: &mut Object) {
    if !schema.contains_key("properties") {
        return;
    }
    let Some(Value::Array(mut branches)) = schema.shift_remove("oneOf") else {
        return;
    };
    branches.push(unknown_branch(schema, &branches));
    let own = Schema::from(schema.clone());
    for keyword in ["type", "properties", "required"] {
        schema.shift_remove(keyword);
    }
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        for (keyword, into) in [("properties", json!({})), ("required", json!([]))] {
            let mut all = own.get(keyword).cloned().unwrap_or(into);
            match (&mut all, branch.get(keyword)) {
                (Value::Object(all), Some(Value::Object(more))) => all.extend(more.clone()),
                (Value::Array(all), Some(Value::Array(more))) => all.extend(more.clone()),
                _ => {}
            }
            branch.insert(keyword.into(), all);
        }
    }
    schema.insert("oneOf".into(), branches.into());
}

/// Returns the branch for events that this version does not know. The documentation tells readers
/// to ignore such events, so the schema must accept them.
fn unknown_branch(schema: &Object, branches: &[Value]) -> Value {
    let title = schema.get("title").and_then(Value::as_str);
    let title = format!("Unknown{}", title.expect("every frame has a title"));
    let name = |branch: &Value| {
        branch["properties"]["event"]["const"]
            .as_str()
            .map(str::to_owned)
    };
    let names: Vec<String> = branches.iter().filter_map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let about = "A newer host may send other events. Ignore them.";
    unknown(&title, about, "event", &names).to_value()
}

/// Replaces every type that has a title with a reference, and collects the types.
fn hoist(schema: &mut Value, found: &mut Vec<(String, Value)>) {
    let Value::Object(object) = schema else {
        return;
    };
    hoist_below(object, found);
    if let Some(name) = object.get("title").and_then(Value::as_str) {
        let name = name.to_owned();
        let mut reference = Object::new();
        reference.insert("description".into(), object["description"].clone());
        reference.insert("$ref".into(), format!("#/$defs/{name}").into());
        found.push((name, std::mem::take(object).into()));
        *object = reference;
    }
    stand_alone(object);
}

fn hoist_below(schema: &mut Object, found: &mut Vec<(String, Value)>) {
    for (keyword, below) in schema.iter_mut() {
        match (keyword.as_str(), below) {
            ("properties", Value::Object(fields)) => {
                fields.values_mut().for_each(|field| hoist(field, found));
            }
            ("oneOf" | "anyOf" | "allOf", Value::Array(branches)) => {
                for branch in branches {
                    hoist(branch, found);
                    only_reference(branch);
                }
            }
            ("items" | "additionalProperties", below) => {
                hoist(below, found);
                only_reference(below);
            }
            _ => {}
        }
    }
}

/// Unwraps a reference that [`stand_alone`] has wrapped, and drops its description, which branches
/// and items do not need.
fn only_reference(schema: &mut Value) {
    if let Some(Value::Array(all)) = schema.get_mut("allOf") {
        *schema = all.remove(0);
    }
}

/// Wraps a reference in `allOf` if it has a description. Otherwise, code generators create a copy
/// of the referenced type under another name.
fn stand_alone(schema: &mut Object) {
    if schema.len() > 1
        && let Some(reference) = schema.shift_remove("$ref")
    {
        schema.insert("allOf".into(), json!([{ "$ref": reference }]));
    }
}

/// Returns the variant for names that this version does not know, for a union that later versions
/// can extend.
pub(super) fn unknown(title: &str, about: &str, tag: &str, names: &[&str]) -> Schema {
    schemars::json_schema!({
        "title": title,
        "description": about,
        "type": "object",
        "properties": {
            tag: {
                "description": "A name that this version does not know.",
                "type": "string",
                "not": { "enum": names },
            },
        },
        "required": [tag],
    })
}

/// Returns the variant for a frame of an unknown type.
pub(super) fn unknown_frame<F: Frames>() -> Option<Schema> {
    let title = F::UNKNOWN?;
    let about = "A newer version may send frames of other types. Ignore them.";
    Some(unknown(title, about, F::TAG, F::NAMES))
}
