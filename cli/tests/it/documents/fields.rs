//! Every field of the JSON output is documented.

use std::fs;

use serde_json::{Map, Value};

use super::Page;
use crate::support::{World, package};

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("should be an object")
}

#[track_caller]
fn assert_documented<'f>(page: &str, fields: impl Iterator<Item = &'f String>) {
    let page = Page::read(page).text;
    for field in fields {
        assert!(
            page.contains(&format!("`{field}`")),
            "{field} is not documented"
        );
    }
}

#[test]
fn fields_of_ext_list_are_documented() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    let listed = world.listed("guard");
    let fields = object(&listed)
        .keys()
        .chain(object(&listed["source"]).keys());
    assert_documented("docs/packages.md", fields);
}

#[test]
fn fields_of_ext_doctor_are_documented() {
    let world = World::new();
    let broken = world.installed("weather");
    fs::create_dir_all(&broken).expect("failed to create directory");
    fs::write(broken.join("extension.json"), "{").expect("failed to write");
    let ran = world.zot(&["ext", "doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    let it = &report["extensions"][0];
    let fields = object(&report).keys().chain(object(it).keys());
    assert_documented(
        "docs/authors.md",
        fields.chain(object(&it["problems"][0]).keys()),
    );
}
