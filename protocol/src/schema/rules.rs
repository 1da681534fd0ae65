//! Generates `validate/rules/generated.rs`, the schemas as tables for the validator.

use serde_json::Value;

use super::{Document, Frames, of_frame, of_type};
use crate::{Config, FromExtension, Manifest, Object, pattern, rpc};

/// Keywords that do not affect which values a schema accepts.
const ANNOTATIONS: [&str; 10] = [
    "$schema",
    "$id",
    "$defs",
    "title",
    "description",
    "$comment",
    "examples",
    "default",
    "contentEncoding",
    "format",
];

/// Returns the source of `validate/rules/generated.rs`.
///
/// # Panics
///
/// Panics if a schema has a keyword that the tables do not support.
pub fn source() -> String {
    let mut file = "// Written by `cargo run -p zot-protocol --example write-schemas`.\n\nuse super::{ANY, ARRAY, BOOLEAN, INTEGER, NULL, OBJECT, Rule, STRING};\nuse crate::pattern;\n".to_owned();
    file += &set::<FromExtension>("FROM_EXTENSION");
    file += &set::<rpc::Command>("COMMAND");
    for (name, document) in [
        ("MANIFEST", of_type::<Manifest>("manifest")),
        ("CONFIG", of_type::<Config>("config")),
    ] {
        file += &format!(
            "\npub(in crate::validate) static {name}: &Rule = {};\n",
            table(&document)
        );
    }
    file
}

fn set<F: Frames>(name: &str) -> String {
    let tables = F::NAMES.iter().map(|name| {
        let document = of_frame::<F>(name).expect("every name in the list has a schema");
        format!("    // {name}\n    {},\n", table(&document))
    });
    format!(
        "\npub(in crate::validate) static {name}: [&Rule; {}] = [\n{}];\n",
        F::NAMES.len(),
        tables.collect::<String>()
    )
}

fn table(document: &Document) -> String {
    Tables(&document.schema).of(&document.schema)
}

/// Generates the tables of the schemas in one document.
struct Tables<'d>(&'d Value);

impl Tables<'_> {
    fn of(&self, schema: &Value) -> String {
        let keywords = match schema {
            Value::Bool(true) => return "&ANY".to_owned(),
            Value::Object(keywords) => keywords,
            other => panic!("tables do not support the schema {other}"),
        };
        let own = keywords
            .iter()
            .filter(|(keyword, _)| !ANNOTATIONS.contains(&keyword.as_str()));
        // `allOf` occurs only around a reference.
        let target = match (keywords.get("$ref"), &keywords.get("allOf")) {
            (Some(reference), _) => Some(self.referred(reference)),
            (None, Some(all)) => all.get(0),
            (None, None) => None,
        };
        if let Some(target) = target {
            assert!(
                own.count() == 1,
                "tables do not support keywords next to `$ref` or `allOf`: {schema}"
            );
            return self.of(target);
        }
        let mut parts: Vec<String> = own
            .filter_map(|(keyword, value)| self.keyword(keyword, value, keywords))
            .collect();
        if parts.is_empty() {
            return "&ANY".to_owned();
        }
        parts.push("..ANY".to_owned());
        format!("&Rule {{ {} }}", parts.join(", "))
    }

    fn keyword(&self, keyword: &str, value: &Value, all: &Object) -> Option<String> {
        Some(match keyword {
            "type" => format!("types: {}", types(value)),
            "const" => format!("values: &[{}]", constant(value)),
            "enum" => format!("values: &[{}]", listed(value, constant)),
            "minLength" if *value == 1 => "not_empty: true".to_owned(),
            "pattern" => format!("pattern: Some({})", matcher(value)),
            "minimum" => format!("range: Some(({value}, {}))", all["maximum"]),
            "items" => format!("items: Some({})", self.of(value)),
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                let fields: Vec<String> = fields
                    .map(|(name, schema)| format!("({name:?}, {})", self.of(schema)))
                    .collect();
                format!("fields: &[{}]", fields.join(", "))
            }
            "required" => format!("required: &[{}]", listed(value, Value::to_string)),
            "additionalProperties" => format!("others: Some({})", self.of(value)),
            "oneOf" => format!("exactly_one: &[{}]", listed(value, |it| exact(self.of(it)))),
            "anyOf" => format!("at_least_one: &[{}]", listed(value, |it| self.of(it))),
            "if" => {
                let condition = exact(self.of(value));
                format!("when: Some(({condition}, {}))", self.of(&all["then"]))
            }
            // The cases for `minimum` and `if` have already written these.
            "maximum" if all.contains_key("minimum") => return None,
            "then" if all.contains_key("if") => return None,
            other => panic!("tables do not support `{other}`: {value}"),
        })
    }

    fn referred(&self, reference: &Value) -> &Value {
        let place = reference.as_str().and_then(|it| it.strip_prefix('#'));
        let found = place.and_then(|place| self.0.pointer(place));
        found.expect("references point into the document")
    }
}

fn listed(values: &Value, each: impl Fn(&Value) -> String) -> String {
    let values: Vec<String> = values.as_array().into_iter().flatten().map(each).collect();
    assert!(
        !values.is_empty(),
        "an empty list in a table would accept everything"
    );
    values.join(", ")
}

/// Panics if the table checks numbers. Such a table can reject valid numbers, and inside `oneOf` or
/// `if` that could make the whole table accept invalid values.
fn exact(table: String) -> String {
    let counts = ["INTEGER", "NUMBER"]
        .iter()
        .any(|word| table.contains(word));
    assert!(
        !counts,
        "tables do not support numbers in `oneOf` or `if`: {table}"
    );
    table
}

fn constant(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::String(text) => format!("Some({text:?})"),
        other => panic!("tables do not support the constant {other}"),
    }
}

fn types(value: &Value) -> String {
    let name = |value: &Value| value.as_str().expect("a type is a string").to_uppercase();
    match value {
        Value::Array(several) => several.iter().map(name).collect::<Vec<_>>().join(" | "),
        one => name(one),
    }
}

fn matcher(value: &Value) -> &'static str {
    match value.as_str().expect("a pattern is a string") {
        pattern::COMMAND_NAME => "pattern::is_command_name",
        pattern::TOOL_NAME => "pattern::is_tool_name",
        pattern::EXTENSION_NAME => "pattern::is_extension_name",
        pattern::GRANTED_PATH => "pattern::is_granted_path",
        pattern::ENV_NAME => "pattern::is_env_name",
        other => panic!("no function implements the pattern {other}"),
    }
}
