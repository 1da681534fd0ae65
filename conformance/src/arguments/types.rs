//! The types that a schema allows or suggests, and the values of its `const` and `enum`.

use serde_json::Value;

use super::{Unsatisfied, place::SchemaNode};

/// All JSON types, ordered by how likely they are in a schema without a type.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];
/// The keywords that suggest each type.
const HINTS: &[(&str, &[&str])] = &[
    (
        "object",
        &[
            "properties",
            "required",
            "patternProperties",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "propertyNames",
            "dependentRequired",
        ],
    ),
    (
        "array",
        &[
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "contains",
        ],
    ),
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    (
        "number",
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
];

/// Returns the values of `const` or `enum`, from the schema with the fewest.
pub(super) fn fixed<'n, 's>(
    leaves: &'n [SchemaNode<'s>],
) -> Option<(&'n SchemaNode<'s>, &'static str, Vec<&'s Value>)> {
    let constant = leaves
        .iter()
        .find_map(|node| Some((node, "const", vec![node.get("const")?])));
    let listed = leaves.iter().filter_map(|node| {
        let values = node.get("enum")?.as_array()?;
        Some((node, "enum", values.iter().collect::<Vec<_>>()))
    });
    constant.or_else(|| listed.min_by_key(|(.., values)| values.len()))
}

/// Returns the types that every schema at a position allows.
pub(super) fn types(leaves: &[SchemaNode<'_>]) -> Result<Vec<&'static str>, Unsatisfied> {
    let mut allowed: Option<Vec<&'static str>> = None;
    for node in leaves {
        let names: Vec<&str> = match node.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        let known = names
            .iter()
            .filter_map(|name| TYPES.into_iter().find(|known| known == name));
        let both: Vec<_> = match &allowed {
            None => known.collect(),
            Some(allowed) => allowed
                .iter()
                .filter_map(|one| known.clone().find_map(|other| narrower(one, other)))
                .collect(),
        };
        if both.is_empty() {
            return Err(Unsatisfied::at(node, "type"));
        }
        allowed = Some(both);
    }
    let mut types = allowed.unwrap_or_else(|| likely(leaves));
    // Try `null` last: it usually means absent, so it exercises a tool the least.
    types.sort_by_key(|name| *name == "null");
    Ok(types)
}

/// Returns the narrower of two compatible types: every integer is a number.
fn narrower(one: &'static str, other: &'static str) -> Option<&'static str> {
    match (one, other) {
        _ if one == other => Some(one),
        ("number", "integer") | ("integer", "number") => Some("integer"),
        _ => None,
    }
}

/// Returns all types, starting with the ones that the keywords suggest.
fn likely(leaves: &[SchemaNode<'_>]) -> Vec<&'static str> {
    let hinted = |name: &str| {
        let hints = HINTS.iter().find(|(hinted, _)| *hinted == name);
        let mut keywords = hints.into_iter().flat_map(|(_, keywords)| *keywords);
        keywords.any(|keyword| leaves.iter().any(|leaf| leaf.get(keyword).is_some()))
    };
    let mut types = TYPES.to_vec();
    types.sort_by_key(|name| !hinted(name));
    types
}
