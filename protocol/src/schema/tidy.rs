//! Simplifies the output of schemars to plain JSON Schema for code generators, strict validators
//! and people.

use schemars::{
    Schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

use crate::Object;

/// The order of keywords in the files. Unlisted keywords come before `default`.
const ORDER: &[&str] = &[
    "$schema",
    "$id",
    "title",
    "description",
    "$comment",
    "$ref",
    "type",
    "const",
    "enum",
    "format",
    "pattern",
    "minLength",
    "minimum",
    "maximum",
    "contentEncoding",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "oneOf",
    "anyOf",
    "not",
    "if",
    "then",
    "default",
    "examples",
    "$defs",
];

/// Rewrites a schema and all its subschemas.
pub(super) struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        standard_integers(object);
        names_as_enum(object);
        nullable_in_place(object);
        nullable_fields(object);
        simple_default(object);
        unwrap_lines(object);
        sort_keywords(object);
    }
}

/// Removes the number formats of schemars, such as `uint32`, which strict validators reject.
/// Integers get a `maximum` instead; schemars has already set their `minimum`.
fn standard_integers(schema: &mut Object) {
    let maximum = match schema.get("format").and_then(Value::as_str) {
        Some("uint16") => Some(u64::from(u16::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint64") => Some(u64::MAX),
        Some("double") => None,
        _ => return,
    };
    schema.shift_remove("format");
    if let Some(maximum) = maximum {
        schema.entry("maximum").or_insert(maximum.into());
    }
}

/// Turns a `oneOf` of described constants into an `enum`, and lists their descriptions in the
/// enum's own description.
fn names_as_enum(schema: &mut Object) {
    let Some(variants) = schema.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let named: Option<Vec<(Value, String)>> = variants
        .iter()
        .map(|variant| {
            let name = variant
                .get("const")
                .filter(|name| name.is_string())?
                .clone();
            let text = variant
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .replace('\n', " ");
            variant.get("properties").is_none().then_some((name, text))
        })
        .collect();
    let Some(named) = named else { return };

    let mut description = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    for (name, text) in &named {
        description.push_str("\n- `");
        description.push_str(name.as_str().unwrap_or_default());
        description.push_str("`: ");
        description.push_str(text);
    }
    schema.shift_remove("oneOf");
    schema.insert("description".into(), description.into());
    schema.insert("type".into(), "string".into());
    schema.insert(
        "enum".into(),
        named.into_iter().map(|(name, _)| name).collect(),
    );
}

/// Replaces an `anyOf` that contains `null` with a nullable type, unless the other branch is a
/// reference.
fn nullable_in_place(schema: &mut Object) {
    let Some(branches) = schema.get("anyOf").and_then(Value::as_array) else {
        return;
    };
    let [Value::Object(inner), null] = branches.as_slice() else {
        return;
    };
    if null.get("type") != Some(&"null".into()) || inner.contains_key("$ref") {
        return;
    }
    let mut inner = inner.clone();
    allow_null(&mut inner);
    // Use the field's own description, followed by the list of names if there is one.
    let inner_text = inner.shift_remove("description");
    let names = inner_text
        .as_ref()
        .and_then(Value::as_str)
        .and_then(|text| text.find("\n- ").map(|at| &text[at..]));
    if let (Some(Value::String(text)), Some(names)) = (schema.get_mut("description"), names) {
        text.push_str(names);
    }
    schema.shift_remove("anyOf");
    schema.extend(inner);
}

/// Lets every optional field be `null`, which means that it is absent. The entries of a map are not
/// fields.
fn nullable_fields(schema: &mut Object) {
    if schema.contains_key("additionalProperties") {
        return;
    }
    let required = schema.get("required").cloned().unwrap_or_default();
    let required = required.as_array().map_or(&[][..], Vec::as_slice);
    let Some(Value::Object(fields)) = schema.get_mut("properties") else {
        return;
    };
    for (name, field) in fields {
        if let Value::Object(field) = field
            && !required.iter().any(|it| it == name)
        {
            allow_null(field);
        }
    }
}

/// Adds `null` to the types and names that a schema lists.
fn allow_null(schema: &mut Object) {
    if let Some(types) = schema.get_mut("type") {
        if let Value::String(only) = types {
            *types = vec![std::mem::take(only)].into();
        }
        if let Value::Array(several) = types
            && !several.contains(&"null".into())
        {
            several.push("null".into());
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum")
        && !names.contains(&Value::Null)
    {
        names.push(Value::Null);
    }
}

/// Removes a default that is an object. Such a default only repeats the defaults of the fields, and
/// code generators assign it to a variable of the wrong type.
fn simple_default(schema: &mut Object) {
    if schema.get("default").is_some_and(Value::is_object) {
        schema.shift_remove("default");
    }
}

/// Joins the lines of a doc comment, except for list items.
fn unwrap_lines(schema: &mut Object) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let joined = text.replace("\n- ", "\u{0}").replace('\n', " ");
        *text = joined.replace('\u{0}', "\n- ");
    }
}

fn sort_keywords(schema: &mut Object) {
    let unlisted = ORDER
        .iter()
        .position(|keyword| *keyword == "default")
        .unwrap_or_default();
    let mut entries: Vec<_> = std::mem::take(schema).into_iter().collect();
    entries.sort_by_key(|(keyword, _)| {
        ORDER
            .iter()
            .position(|known| known == keyword)
            .unwrap_or(unlisted)
    });
    schema.extend(entries);
}
