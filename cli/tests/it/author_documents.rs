//! What the page for authors shows works.

use std::fs;

use serde_json::Value;

use crate::support::World;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/authors.md");
    fs::read_to_string(path).expect("a page")
}

#[test]
fn its_commands_run_and_its_fields_are_those_there_are() {
    let page = page();
    let (_, block) = page.split_once("```sh\n").expect("commands");
    let (block, rest) = block.split_once("```").expect("their end");
    assert!(!rest.contains("```sh"), "one block of commands");
    let world = World::new();
    let ran = world
        .command("bash")
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .args(["-ec", &format!("zot() {{ \"$zot\" \"$@\"; }}\n{block}")])
        .output()
        .expect("bash starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{ran:?}");
    for shown in [
        "\nHello, Ada.\n",
        "\n3\n",
        "✓ weather 0.1.0",
        "[zot] was shut down",
    ] {
        assert!(said.contains(shown), "{said}");
    }

    fs::write(world.installed("weather").join("extension.json"), "{").expect("written");
    let ran = world.zot(&["ext", "doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let it = report["extensions"][0].as_object().expect("an object");
    let problem = it["problems"][0].as_object().expect("an object");
    for field in it
        .keys()
        .chain(problem.keys())
        .chain(["broken".to_owned()].iter())
    {
        assert!(page.contains(&format!("`{field}`")), "{field} is not told");
    }
}
