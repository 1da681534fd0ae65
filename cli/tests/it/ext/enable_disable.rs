//! `zot ext enable` and `zot ext disable`.

use std::fs;

use serde_json::json;

use crate::support::{
    World,
    package::{self, Repository},
};

#[test]
fn disable_edits_one_value_and_does_not_mark_the_copy_as_changed() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    let manifest = world.installed("guard").join("extension.json");
    let before = fs::read_to_string(&manifest).unwrap();
    assert_eq!(
        world.ext(&["disable", "guard"]).out,
        "✓ guard is disabled (global)\n"
    );
    assert_eq!(world.listed("guard")["state"], "disabled");
    assert_eq!(world.listed("guard")["changed"], false);
    let expected = before.replace("\"./run.sh\"\n", "\"./run.sh\",\n  \"enabled\": false\n");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), expected);
    assert_eq!(
        world.ext(&["disable", "guard"]).out,
        "✓ guard is already disabled (global)\n"
    );
    world.ext(&["enable", "guard"]);
    assert_eq!(world.listed("guard")["state"], "enabled");
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn the_users_choice_survives_an_update() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let release = |version: &str, enabled: Option<bool>| {
        let mut manifest = json!({"name": "guard", "version": version, "exec": "./run.sh"});
        if let Some(enabled) = enabled {
            manifest["enabled"] = json!(enabled);
        }
        package::write_with(&repository.dir, &manifest);
        repository.commit(version);
    };
    let state = || world.listed("guard")["state"].clone();
    release("1", None);
    world.ext(&["install", &repository.file_url()]);
    world.ext(&["disable", "guard"]);
    release("2", Some(true));
    world.ext(&["update"]);
    assert_eq!(state(), "disabled");
    assert_eq!(world.listed("guard")["changed"], false);
    assert_eq!(world.listed("guard")["version"], "2");
    world.ext(&["enable", "guard"]);
    release("3", Some(false));
    world.ext(&["update"]);
    assert_eq!(state(), "enabled");
    // Reinstalling keeps the user's choice too.
    release("4", Some(false));
    world.ext(&["install", &repository.file_url()]);
    assert_eq!(state(), "enabled");
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn the_package_default_applies_until_the_user_chooses() {
    let world = World::new();
    let manifest = json!({"name": "guard", "exec": "./run.sh", "enabled": false});
    package::write_with(&world.work().join("guard"), &manifest);
    let out = world.ext(&["install", "guard"]).out;
    assert!(
        out.ends_with("  disabled; run `zot ext enable guard` to enable it\n"),
        "{out}"
    );
}

#[test]
fn disable_keeps_a_changed_copy_marked_as_changed() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    fs::write(world.installed("guard").join("new"), "").unwrap();
    world.ext(&["disable", "guard"]);
    assert_eq!(world.listed("guard")["changed"], true);
}

#[test]
fn an_ambiguous_name_is_refused_with_the_candidate_paths() {
    let world = World::new();
    package::write(&world.path("guard"), "guard", "1");
    world.ext(&["install", "../guard"]);
    world.ext(&["install", "../guard", "--project"]);
    for verb in ["disable", "enable", "remove", "update"] {
        let error = world.refused(&[verb, "guard"]);
        assert!(error.contains("`guard` is ambiguous:"), "{error}");
        assert!(
            error.contains("work/.zot/extensions/guard (project)\n"),
            "{error}"
        );
        assert!(error.contains("zot/extensions/guard (global)\n"), "{error}");
        assert!(error.contains("hint: use --project or --global"), "{error}");
    }
    world.ext(&["disable", "guard", "--global"]);
    world.ext(&["disable", ".zot/extensions/guard"]);
    // Two extensions match: one by its directory name, the other by the name in its manifest.
    package::write(&world.installed("other"), "guard", "1");
    let error = world.refused(&["remove", "guard", "--global"]);
    assert!(error.contains("extensions/other (global)"), "{error}");
    world.ext(&["remove", "other"]);
    assert!(!world.installed("other").exists());
}

#[test]
fn a_broken_extension_can_be_removed_but_not_disabled() {
    let world = World::new();
    let dir = world.installed("broken");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("extension.json"), "{").unwrap();
    let error = world.refused(&["disable", "broken"]);
    assert!(error.contains("extension.json`: "), "{error}");
    world.ext(&["remove", "broken"]);
    assert!(!dir.exists());
    package::write(&world.installed("weather"), "weather", "1");
    let error = world.refused(&["enable", "wether"]);
    assert!(error.ends_with("hint: did you mean weather?\n"), "{error}");
    let error = world.refused(&["enable", "weather", "--project"]);
    assert!(
        error.ends_with("hint: there is one in the global scope\n"),
        "{error}"
    );
    let error = world.refused(&["enable", "nothing"]);
    assert!(error.contains("no extension named `nothing`"), "{error}");
}
