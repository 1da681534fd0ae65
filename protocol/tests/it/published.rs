//! The checked-in schemas match the types and are well-formed.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use zot_protocol::schema::{Document, documents};
use zot_test_support::root;

const FIX: &str = "cargo run -p zot-protocol --example write-schemas";

fn files_below(folder: &Path, base: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, base, files);
        } else {
            let name = path
                .strip_prefix(base)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            files.insert(name, fs::read_to_string(&path).expect("a text"));
        }
    }
}

#[test]
fn the_schema_folder_is_up_to_date() {
    let base = root().join("protocol/schema/v1");
    let mut there = BTreeMap::new();
    files_below(&base, &base, &mut there);
    let given: BTreeMap<String, String> = documents()
        .iter()
        .map(|document| (format!("{}.json", document.name), document.to_text()))
        .collect();

    let mut differences = String::new();
    for name in there.keys().filter(|name| !given.contains_key(*name)) {
        differences += &format!("  {name}: no type generates it\n");
    }
    for (name, text) in &given {
        match there.get(name) {
            None => differences += &format!("  {name}: missing\n"),
            Some(there) if there != text => {
                let (line, (is, want)) = there
                    .lines()
                    .zip(text.lines())
                    .enumerate()
                    .find(|(_, (is, want))| is != want)
                    .unwrap_or((there.lines().count().min(text.lines().count()), ("", "")));
                differences += &format!(
                    "  {name}, line {}:\n    - {}\n    + {}\n",
                    line + 1,
                    is.trim(),
                    want.trim()
                );
            }
            Some(_) => {}
        }
    }
    assert!(
        differences.is_empty(),
        "protocol/schema/v1 is stale:\n{differences}to regenerate it: {FIX}"
    );
}

#[test]
fn the_generated_tables_are_up_to_date() {
    let there = root().join("protocol/src/validate/rules/generated.rs");
    let there = fs::read_to_string(there).expect("a text");
    assert!(
        there == zot_protocol::schema::rules::source(),
        "protocol/src/validate/rules/generated.rs is stale; to regenerate it: {FIX}"
    );
}

/// Visits every schema in a document with its path.
fn each_schema<'v>(schema: &'v Value, at: &str, visit: &mut dyn FnMut(&str, &'v Value)) {
    visit(at, schema);
    for (keyword, below) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), below) {
            ("properties" | "$defs", Value::Object(named)) => {
                for (name, schema) in named {
                    each_schema(schema, &format!("{at}/{keyword}/{name}"), visit);
                }
            }
            ("oneOf" | "anyOf", Value::Array(branches)) => {
                for (index, schema) in branches.iter().enumerate() {
                    each_schema(schema, &format!("{at}/{keyword}/{index}"), visit);
                }
            }
            ("items" | "additionalProperties", schema) => {
                each_schema(schema, &format!("{at}/{keyword}"), visit);
            }
            _ => {}
        }
    }
}

#[test]
fn every_property_is_described() {
    let mut silent = Vec::new();
    for document in documents() {
        each_schema(&document.schema, &document.name, &mut |at, schema| {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let described = property["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 5);
                if !described {
                    silent.push(format!("{at}: {name}"));
                }
            }
        });
        assert!(
            document.schema["description"].is_string(),
            "{} has no description",
            document.name
        );
    }
    assert!(
        silent.is_empty(),
        "properties without a description: {silent:#?}"
    );
}

#[test]
fn every_schema_has_a_draft_and_a_unique_id() {
    let mut ids = std::collections::BTreeSet::new();
    for Document { name, schema } in documents() {
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(
            schema["$id"],
            format!("urn:zot:v1:{}", name.replace('/', ":"))
        );
        assert!(ids.insert(name));
    }
}

#[test]
fn every_example_matches_its_schema_and_the_schema_of_its_set() {
    let compiled: BTreeMap<String, jsonschema_of::Schema> = documents()
        .into_iter()
        .map(|document| (document.name, jsonschema_of::compile(&document.schema)))
        .collect();
    let mut tried = 0;
    for Document { name, schema } in documents() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            compiled[&name]
                .check(example)
                .unwrap_or_else(|mismatch| panic!("{name}: {example}: {mismatch}"));
            if let Some((set, _)) = name.rsplit_once('/')
                && let Some(set) = compiled.get(set)
            {
                set.check(example)
                    .unwrap_or_else(|mismatch| panic!("{name} in its set: {example}: {mismatch}"));
            }
            tried += 1;
        }
    }
    assert!(tried > 70, "{tried}");
}

#[test]
fn the_schema_of_a_set_rejects_an_unknown_type() {
    let documents = documents();
    for set in [
        "from-extension",
        "from-host",
        "rpc/command",
        "rpc/event",
        "rpc/response",
    ] {
        let document = documents
            .iter()
            .find(|document| document.name == set)
            .expect("published");
        assert!(
            jsonschema_of::compile(&document.schema)
                .check(&serde_json::json!({"type": "dance"}))
                .is_err()
        );
    }
}

mod jsonschema_of {
    use serde_json::Value;
    use zot_protocol::validate::ToolSchema as Compiled;

    pub(super) type Schema = Compiled;

    pub(super) fn compile(schema: &Value) -> Schema {
        Compiled::compile(schema.as_object().expect("an object")).expect("compiles")
    }
}
