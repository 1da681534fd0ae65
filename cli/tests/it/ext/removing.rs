//! `zot ext remove`, and the data that it keeps.

use std::fs;

use crate::support::{World, package, snapshot};

fn world_with_data() -> World {
    let world = World::new();
    package::write(&world.path("guard"), "guard", "1");
    world.ext(&["install", "../guard"]);
    for (path, text) in [
        ("zot/extension-data/guard/kept", "precious"),
        ("zot/extension-data/other/kept", "precious"),
        ("zot/logs/ext-guard.log", "a line\n"),
        ("zot/logs/ext-guard.log.1", "an older line\n"),
        ("zot/last-known/guard.json", "{}"),
    ] {
        fs::create_dir_all(world.path(path).parent().unwrap()).unwrap();
        fs::write(world.path(path), text).unwrap();
    }
    world
}

#[test]
fn data_survives_removal() {
    let world = world_with_data();
    let outside = [
        world.installed("guard"),
        world.path("zot/extensions.lock"),
        world.path("zot/last-known"),
    ];
    let before = snapshot::without(world.root(), &outside);
    let out = world.ext(&["remove", "guard"]).out;
    assert_eq!(
        out,
        format!(
            "✓ removed guard (global)\n  kept its data in {} (use --purge to delete it)\n",
            world.path("zot/extension-data/guard").display()
        )
    );
    assert!(!world.installed("guard").exists());
    snapshot::assert_same(&before, &snapshot::without(world.root(), &outside));
    let lock = fs::read_to_string(world.path("zot/extensions.lock")).unwrap();
    assert!(!lock.contains("guard"), "{lock}");
    // A reinstalled extension finds its data again.
    world.ext(&["install", "../guard"]);
    assert!(world.path("zot/extension-data/guard/kept").exists());
}

#[test]
fn purge_removes_data_and_logs() {
    let world = world_with_data();
    let out = world.ext(&["remove", "guard", "--purge"]).out;
    assert_eq!(out, "✓ removed guard (global)\n  removed its data\n");
    assert!(!world.path("zot/extension-data/guard").exists());
    assert!(!world.path("zot/logs/ext-guard.log").exists());
    assert!(!world.path("zot/logs/ext-guard.log.1").exists());
    assert!(world.path("zot/extension-data/other/kept").exists());
}

#[test]
fn empty_data_directories_are_removed() {
    let world = world_with_data();
    let data = world.path("zot/extension-data/guard");
    fs::remove_file(data.join("kept")).unwrap();
    assert_eq!(
        world.ext(&["remove", "guard"]).out,
        "✓ removed guard (global)\n"
    );
    assert!(!data.exists());
    // `--purge` also removes logs when there is no other data.
    world.ext(&["install", "../guard"]);
    let out = world.ext(&["remove", "guard", "--purge"]).out;
    assert_eq!(out, "✓ removed guard (global)\n  removed its data\n");
    assert!(!world.path("zot/logs/ext-guard.log").exists());
}

#[test]
fn purge_keeps_data_of_another_extension_with_the_same_name() {
    let world = world_with_data();
    world.ext(&["install", "../guard", "--project"]);
    let out = world.ext(&["remove", "guard", "--purge", "--project"]).out;
    assert_eq!(out, "✓ removed guard (project)\n");
    assert!(world.path("zot/extension-data/guard/kept").exists());
}

#[test]
fn removing_a_linked_extension_keeps_the_link_target() {
    let world = world_with_data();
    let (dev, data) = (world.path("dev"), world.path("elsewhere"));
    package::write(&dev, "linked", "1");
    std::os::unix::fs::symlink(&dev, world.installed("linked")).unwrap();
    fs::create_dir(&data).unwrap();
    fs::write(data.join("kept"), "precious").unwrap();
    std::os::unix::fs::symlink(&data, world.path("zot/extension-data/linked")).unwrap();
    let before = snapshot::of(&dev);
    world.ext(&["disable", "linked"]);
    world.ext(&["enable", "linked"]);
    let listed = world.ext(&["list"]).out;
    assert!(
        listed.contains(&format!("link to {}", dev.display())),
        "{listed}"
    );
    world.ext(&["remove", "linked", "--purge"]);
    assert!(!world.installed("linked").is_symlink());
    assert!(!world.path("zot/extension-data/linked").is_symlink());
    assert!(data.join("kept").exists());
    let after = snapshot::of(&dev);
    assert_eq!(before.len(), after.len());
}
