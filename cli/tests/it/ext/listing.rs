//! `zot ext list`, as text and as JSON.

use std::fs;

use serde_json::{Value, json};

use crate::support::{World, package, terminal};

/// Creates a home with one extension of each kind.
fn world_with_all_kinds() -> World {
    let world = World::new();
    let global = |name: &str| world.installed(name);
    package::write_with(
        &world.work().join("weather"),
        &json!({
            "name": "weather", "version": "1.2.0", "exec": "./run.sh",
            "description": "the weather of today and of the days after it, for any place on earth that has one",
            "permissions": {"net": [443]},
        }),
    );
    world.ext(&["install", "weather"]);
    fs::remove_dir_all(world.work().join("weather")).unwrap();
    fs::create_dir_all(world.path("zot/last-known")).unwrap();
    let known = json!({
        "version": "1.2.0",
        "commands": [{"name": "weather", "description": ""}],
        "tools": [{"name": "forecast", "description": ""}, {"name": "now", "description": ""}],
        "events": ["turn_end"], "intercepts": ["tool_call"],
    });
    fs::write(world.path("zot/last-known/weather.json"), known.to_string()).unwrap();
    package::write(&global("audit"), "audit", "0.1");
    world.ext(&["disable", "audit"]);
    package::write(&global("clock"), "clock", "2.0");
    package::write(&global("clock-too"), "clock", "2.1");
    fs::create_dir(global("empty")).unwrap();
    fs::create_dir(global("torn")).unwrap();
    fs::write(
        global("torn").join("extension.json"),
        "{\"name\": 1, \"exec\": \"x\"}",
    )
    .unwrap();
    package::write(&world.work().join(".zot/extensions/todo"), "todo", "3.0");
    world
}

fn normalised(world: &World, text: &str) -> String {
    let root = fs::canonicalize(world.root()).unwrap();
    let text = text.replace(root.to_str().unwrap(), "[ROOT]");
    // Replace what is enforced, which depends on the kernel.
    let (start, rest) = text
        .split_once("TCP to 443 (")
        .expect("no network permission listed");
    let (_, end) = rest.split_once(')').expect("missing closing parenthesis");
    format!("{start}TCP to 443 ([ENFORCED]){end}")
}

#[test]
fn list_as_text() {
    let world = world_with_all_kinds();
    let out = normalised(&world, &world.ext(&["list"]).out);
    insta::assert_snapshot!("list_piped", out);
}

#[test]
fn lines_fit_the_width_of_the_terminal() {
    let world = world_with_all_kinds();
    for columns in [80, 20] {
        let ran = terminal::zot(&world, columns, &[], &["ext", "list"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for line in ran.out.lines() {
            let plain = line.replace("\x1b[2m", "").replace("\x1b[0m", "");
            assert!(plain.chars().count() <= usize::from(columns), "{plain}");
        }
        assert!(ran.out.contains("\x1b[2m"), "{}", ran.out);
        // The source is on a line of its own if it does not fit.
        assert_eq!(columns == 20, ran.out.contains("  from"), "{}", ran.out);
    }
}

#[test]
fn list_as_json() {
    let world = world_with_all_kinds();
    let all: Value = serde_json::from_str(&world.ext(&["list", "--json"]).out).unwrap();
    let brief: Vec<String> = all["extensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            format!(
                "{} {} {} {}",
                it["name"], it["scope"], it["state"], it["changed"]
            )
        })
        .collect();
    assert_eq!(
        brief,
        [
            r#""todo" "project" "untrusted" null"#,
            r#""audit" "global" "disabled" null"#,
            r#""clock" "global" "enabled" null"#,
            r#""clock" "global" "shadowed" null"#,
            r#""weather" "global" "enabled" false"#,
            r#""torn" "global" "broken" null"#,
            r#""empty" "global" "broken" null"#,
        ]
    );
    let mut weather = world.listed("weather");
    weather["source"]["digest"] = json!("[DIGEST]");
    let text = serde_json::to_string_pretty(&weather).unwrap();
    insta::assert_snapshot!("list_json", normalised(&world, &text));
}

#[test]
fn an_empty_list_has_a_hint() {
    let world = World::new();
    let ran = world.ext(&["list"]);
    assert!(
        ran.out
            .starts_with("no extensions installed\nhint: zot ext install ")
    );
    assert_eq!(
        world.ext(&["list", "--json"]).out,
        "{\n  \"extensions\": []\n}\n"
    );
    assert!(!world.path("zot").exists());
}
