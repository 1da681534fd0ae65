//! What the page on packages shows works.

use std::fs;

use serde_json::Value;

use crate::support::{
    World,
    package::{self, Repository},
};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/packages.md");
    fs::read_to_string(path).expect("a page")
}

#[test]
fn its_commands_run() {
    let page = page();
    let (_, block) = page.split_once("```sh\n").expect("commands");
    let (block, rest) = block.split_once("```").expect("their end");
    assert!(!rest.contains("```sh"), "one block of commands");
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1.1");
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1.2");
    repository.git(&["tag", "v1.2"]);
    let mut commands = 0;
    for line in block.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let line = line.replace("https://github.com/someone/guard", &repository.file_url());
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("zot"), "{line}");
        let mut words: Vec<&str> = words.collect();
        // In the page they are two ways to the same end, here the second one follows the first.
        if line.contains("file://") {
            words.push("--force");
        }
        let ran = world.zot(&words);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        commands += 1;
    }
    assert_eq!(commands, 6);
    assert!(!world.installed("guard").exists());
}

#[test]
fn its_fields_are_those_there_are() {
    let page = page();
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    let Value::Object(listed) = world.listed("guard") else {
        panic!("an object");
    };
    let source = listed["source"].as_object().expect("an object");
    for field in listed.keys().chain(source.keys()) {
        assert!(page.contains(&format!("`{field}`")), "{field} is not told");
    }
}
