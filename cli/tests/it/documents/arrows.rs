//! The arrows between the crates are those that the page on the architecture draws.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

use super::{Page, root};

/// Crates and what each may use, from the page's table.
fn drawn() -> BTreeMap<String, Vec<String>> {
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

/// Crates and which of our own each uses, beside its tests.
fn is() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("failed to start cargo");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("invalid JSON");
    let packages = metadata["packages"].as_array().expect("should be an array");
    let used = packages.iter().map(|package| {
        let dependencies = package["dependencies"].as_array().expect("should be an array");
        let of_ours = dependencies
            .iter()
            .filter(|it| it["kind"].is_null() && it["path"].is_string());
        let mut names: Vec<String> = of_ours.map(|it| text(&it["name"])).collect();
        names.sort();
        (text(&package["name"]), names)
    });
    used.collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("not valid UTF-8").to_owned()
}

#[test]
fn who_uses_whom_is_as_drawn() {
    let (examples, crates): (Vec<_>, Vec<_>) = is()
        .into_iter()
        .partition(|(name, _)| name.starts_with("zot-example-"));
    let crates: BTreeMap<_, _> = crates.into_iter().collect();
    assert_eq!(crates, drawn(), "the crates, and docs/architecture.md");
    for (name, uses) in examples {
        let may_use: &[&str] = match name.as_str() {
            "zot-example-embed" => &["zot-host", "zot-protocol"],
            "zot-example-rpc" => &["zot-protocol"],
            // An extension needs nothing but the SDK.
            _ => &["zot-sdk"],
        };
        assert_eq!(uses, may_use, "{name}");
    }
}
