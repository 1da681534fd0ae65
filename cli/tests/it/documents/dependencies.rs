//! The dependencies between the crates match the table in `docs/architecture.md`.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

use super::{Page, root};

/// Returns the crates and their allowed dependencies, from the page's table.
fn documented() -> BTreeMap<String, Vec<String>> {
    let page = Page::read("docs/architecture.md").text;
    let (_, table) = page
        .split_once("\n| crate | may use |\n")
        .expect("no table");
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let named = rows.map(|row| {
        let mut names: Vec<String> = row
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        let name = names.remove(0);
        names.sort();
        (name, names)
    });
    named.collect()
}

/// Returns the crates and their actual workspace dependencies, without build and dev dependencies.
fn actual() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("failed to start cargo");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("invalid JSON");
    let packages = metadata["packages"].as_array().expect("should be an array");
    let used = packages.iter().map(|package| {
        let dependencies = package["dependencies"]
            .as_array()
            .expect("should be an array");
        let workspace_members = dependencies
            .iter()
            .filter(|it| it["kind"].is_null() && it["path"].is_string());
        let mut names: Vec<String> = workspace_members.map(|it| text(&it["name"])).collect();
        names.sort();
        (text(&package["name"]), names)
    });
    used.collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("should be a string").to_owned()
}

#[test]
fn crate_dependencies_match_the_architecture_page() {
    let (examples, crates): (Vec<_>, Vec<_>) = actual()
        .into_iter()
        .partition(|(name, _)| name.starts_with("zot-example-"));
    let crates: BTreeMap<_, _> = crates.into_iter().collect();
    assert_eq!(crates, documented(), "crates vs. docs/architecture.md");
    for (name, uses) in examples {
        let may_use: &[&str] = match name.as_str() {
            "zot-example-embed" => &["zot-host", "zot-protocol"],
            "zot-example-rpc" => &["zot-protocol"],
            // An extension needs only the SDK.
            _ => &["zot-sdk"],
        };
        assert_eq!(uses, may_use, "{name}");
    }
}
