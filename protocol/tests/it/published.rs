//! The checked-in schemas match the types and are well-formed.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use zot_protocol::schema::{self, Document, documents};
use zot_test_support::root;

const FIX: &str = "cargo run -p zot-protocol --example write-schemas";

fn files_below(folder: &Path, base: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("read the directory") {
        let path = entry.expect("read the directory").path();
        if path.is_dir() {
            files_below(&path, base, files);
        } else {
            let name = path
                .strip_prefix(base)
                .expect("the file is in the folder")
                .to_string_lossy()
                .into_owned();
            files.insert(name, fs::read_to_string(&path).expect("read the file"));
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

/// The programs contain the files, not the generator.
#[test]
fn programs_contain_all_published_schemas() {
    let contained: Vec<_> = schema::published().collect();
    let generated = documents();
    assert_eq!(contained.len(), generated.len(), "to fix this: {FIX}");
    for ((name, text), document) in contained.into_iter().zip(&generated) {
        assert_eq!(name, document.name, "to fix this: {FIX}");
        assert_eq!(text, document.to_text(), "{name}");
        assert_eq!(schema::published_as(name).as_ref(), Some(&document.schema));
    }
}

#[test]
fn the_generated_tables_are_up_to_date() {
    let there = root().join("protocol/src/validate/rules/generated.rs");
    let there = fs::read_to_string(there).expect("read the file");
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

/// Extensions and drivers must ignore frames of unknown types, so the schemas of the sets that they
/// read accept such frames. The schemas of the other sets do not.
#[test]
fn only_the_sets_that_others_read_accept_unknown_types() {
    let documents = documents();
    let accepts = |set: &str, frame: Value| {
        let document = documents.iter().find(|document| document.name == set);
        let schema = jsonschema_of::compile(&document.expect("the set is published").schema);
        schema.check(&frame).is_ok()
    };
    for (set, is_open) in [
        ("from-extension", false),
        ("from-host", true),
        ("rpc/command", false),
        ("rpc/event", true),
        ("rpc/response", false),
    ] {
        let frame = serde_json::json!({"type": "dance"});
        assert_eq!(accepts(set, frame), is_open, "{set}");
    }
    let event = |event: &str| serde_json::json!({"type": "event", "event": event});
    let asked =
        |event: &str| serde_json::json!({"type": "event_intercept", "id": "1", "event": event});
    for (set, unknown, known_but_invalid) in [
        ("from-host", event("tea_time"), event("turn_start")),
        ("from-host/event", event("tea_time"), event("turn_start")),
        ("from-host", asked("tea_time"), asked("tool_call")),
        (
            "from-host/event_intercept",
            asked("tea_time"),
            asked("tool_call"),
        ),
    ] {
        assert!(accepts(set, unknown), "{set}");
        assert!(!accepts(set, known_but_invalid), "{set}");
    }
}

/// A title is the name of a type in generated code.
#[test]
fn every_type_has_one_definition_with_its_own_name() {
    for document in documents() {
        let root = document.schema["title"].as_str().expect("a title");
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.chars().all(|it| it.is_ascii_alphabetic())
        };
        assert!(is_name(root), "{}: {root}", document.name);
        for (name, schema) in document.schema["$defs"].as_object().into_iter().flatten() {
            assert!(is_name(name), "{}: {name}", document.name);
            if let Some(title) = schema["title"].as_str() {
                assert_eq!(title, name, "{}", document.name);
            }
        }
        each_schema(&document.schema, "", &mut |at, schema| {
            for branch in schema["oneOf"].as_array().into_iter().flatten() {
                assert!(
                    branch["$ref"].is_string(),
                    "{}{at}: {branch}",
                    document.name
                );
            }
            let has_neighbours = schema.as_object().is_some_and(|it| it.len() > 1);
            assert!(
                schema["$ref"].is_null() || !has_neighbours,
                "{}{at}: {schema}",
                document.name
            );
        });
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
