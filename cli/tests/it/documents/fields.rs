//! Every field that a program is given is told in the page for it.

use std::fs;

use serde_json::{Map, Value};

use super::Page;
use crate::support::{World, package};

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("should be an object")
}

#[track_caller]
fn told<'f>(page: &str, fields: impl Iterator<Item = &'f String>) {
    let page = Page::read(page).text;
    for field in fields {
        assert!(page.contains(&format!("`{field}`")), "{field} is not told");
    }
}

#[test]
fn of_the_list() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    let listed = world.listed("guard");
    let fields = object(&listed)
        .keys()
        .chain(object(&listed["source"]).keys());
    told("docs/packages.md", fields);
}

#[test]
fn of_the_doctor() {
    let world = World::new();
    let broken = world.installed("weather");
    fs::create_dir_all(&broken).expect("failed to create directory");
    fs::write(broken.join("extension.json"), "{").expect("failed to write");
    let ran = world.zot(&["ext", "doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    let it = &report["extensions"][0];
    let fields = object(&report).keys().chain(object(it).keys());
    told(
        "docs/authors.md",
        fields.chain(object(&it["problems"][0]).keys()),
    );
}
