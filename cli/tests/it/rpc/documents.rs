//! The commands and frames in `docs/rpc.md` and `docs/embedding.md` work.

use std::{collections::BTreeSet, fs};

use serde_json::Value;
use zot_protocol::{Tagged, rpc, schema, validate};

use super::driver::{checked, checked_lines};
use crate::support::{World, examples};

fn page(name: &str) -> String {
    let path = examples::workspace().join("docs").join(name);
    fs::read_to_string(path).expect("failed to read page")
}

/// Returns the code blocks in this language on a page.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let start = format!("```{language}\n");
    let blocks = page.split(start.as_str()).skip(1);
    blocks
        .map(|rest| rest.split("```").next().expect("no content block"))
        .collect()
}

fn run(world: &World, block: &str) -> Vec<u8> {
    let ran = world
        .command("bash")
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .env("embed", examples::program("zot-example-embed"))
        // Use the binaries built for this test instead of installed ones.
        .args([
            "-ec",
            &format!(
                "zot() {{ \"$zot\" \"$@\"; }}\ncargo() {{ shift 5; \"$embed\" \"$@\"; }}\n{block}"
            ),
        ])
        .output()
        .expect("failed to start bash");
    assert!(ran.status.success(), "{ran:?}");
    ran.stdout
}

#[test]
fn the_documented_commands_run() {
    let world = World::new();
    let page_of_rpc = page("rpc.md");
    let [quick] = blocks(&page_of_rpc, "sh")[..] else {
        panic!("expected one block of commands");
    };
    let said = run(&world, quick);
    let lines = checked_lines(&said);
    assert_eq!(lines.last().expect("not printed")["type"], "done");
    let page_of_embedding = page("embedding.md");
    let [embed] = blocks(&page_of_embedding, "sh")[..] else {
        panic!("expected one block of commands");
    };
    let said = run(&world, embed);
    assert!(String::from_utf8_lossy(&said).starts_with("I am the demo model"));
}

#[test]
fn the_documented_frames_match_the_schemas() {
    let page = page("rpc.md");
    let mut frames = 0;
    for line in blocks(&page, "json").into_iter().flat_map(str::lines) {
        let frame: Value = serde_json::from_str(line).expect("invalid JSON");
        let name = frame["type"].as_str().expect("missing `type`");
        if rpc::Command::NAMES.contains(&name) {
            validate::frame::<rpc::Command>(line.as_bytes()).expect("invalid command");
        } else {
            checked(line.as_bytes());
        }
        frames += 1;
    }
    assert!(frames > 15, "{frames}");
}

#[test]
fn every_command_event_and_field_is_documented() {
    let page = page("rpc.md");
    let is_documented = |name: &str| page.contains(&format!("`{name}`"));
    let missing: Vec<&str> = rpc::Command::NAMES
        .iter()
        .chain(rpc::Event::NAMES)
        .copied()
        .filter(|name| !is_documented(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Collect every field of every command and event.
    let mut fields = BTreeSet::new();
    for document in schema::documents() {
        if document.name.starts_with("rpc/command/") || document.name.starts_with("rpc/event/") {
            let properties = document.schema["properties"]
                .as_object()
                .expect("should be an object");
            fields.extend(properties.keys().cloned());
        }
    }
    let missing: Vec<&String> = fields
        .iter()
        .filter(|name| {
            !page.contains(&format!("`{name}`")) && !page.contains(&format!("`{name}?`"))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
