//! Third-party validators (Python's `jsonschema`, `ajv` and `@cfworker/json-schema`) read the
//! published schemas and agree with ours.

use std::{fmt::Write, fs, process::Command};

use serde_json::json;
use zot_protocol::schema::documents;
use zot_test_support::{
    recordings::{Recording, recordings},
    root,
    skip::{has, missing},
};

use crate::refused;

/// Returns everything that must be valid: the examples of each schema, and the recorded frames.
fn accepted() -> String {
    let mut rows = String::new();
    for document in documents() {
        for example in document.schema["examples"].as_array().into_iter().flatten() {
            // A frame is checked against its own schema and against that of its set.
            let set = document
                .name
                .rsplit_once('/')
                .map_or(&*document.name, |(set, _)| set);
            let set = if set == "rpc" { &*document.name } else { set };
            writeln!(rows, "{}", json!({"set": set, "frame": example}))
                .expect("writing to a string cannot fail");
        }
    }
    for (from_extension, frame) in recordings().iter().flat_map(Recording::frames) {
        let set = if from_extension {
            "from-extension"
        } else {
            "from-host"
        };
        writeln!(rows, "{}", json!({"set": set, "frame": frame}))
            .expect("writing to a string cannot fail");
    }
    rows
}

fn agrees(mut validator: Command) {
    let folder = tempfile::tempdir().expect("create a directory");
    let accepted = accepted();
    let refused = refused::TABLE;
    fs::write(folder.path().join("accepted.ndjson"), &accepted).expect("write the file");
    fs::write(folder.path().join("refused.ndjson"), refused).expect("write the file");
    let output = validator
        .arg(root().join("protocol/schema/v1"))
        .arg(folder.path())
        .output()
        .expect("run the validator");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!(
        "{} schemas, {} accepted, {} refused\n",
        documents().len(),
        accepted.lines().count(),
        refused.lines().count()
    );
    assert_eq!(
        said,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success());
}

#[test]
fn python_jsonschema_agrees_with_our_validator() {
    let python = root().join("target/test-tools/venv/bin/python");
    if !python.exists() {
        return missing("Python's jsonschema");
    }
    let mut command = Command::new(python);
    command.arg(root().join("protocol/tests/foreign/check.py"));
    agrees(command);
}

#[test]
fn ajv_agrees_with_our_validator() {
    agrees_with_node("ajv", "ajv");
}

#[test]
fn cfworker_agrees_with_our_validator() {
    agrees_with_node("cfworker", "@cfworker/json-schema");
}

fn agrees_with_node(name: &str, package: &str) {
    let folder = root().join("protocol/tests/foreign");
    if !folder.join("node_modules").join(package).exists() {
        return missing(package);
    }
    if !has("node") {
        return;
    }
    let mut command = Command::new("node");
    command.arg(folder.join("check.mjs")).arg(name);
    agrees(command);
}
