//! Which entries of an extensions directory count as extensions.

use super::*;

#[test]
fn other_files_and_directories_are_ignored() {
    let world = World::new();
    named(&world.global("real"), "real");
    named(&world.global(".staging-1"), "staged");
    fs::write(world.global("README.md"), "").unwrap();
    fs::create_dir(world.global("empty")).unwrap();
    let discovery = discover(&world.search());
    assert_eq!(discovery.extensions.len(), 1);
    assert_eq!(started_names(&discovery), ["real"]);
    assert_eq!(discovery.without_manifest, [world.global("empty")]);
    assert!(discovery.refused.is_empty(), "{discovery:?}");
}

#[test]
fn a_symlinked_directory_is_followed() {
    let world = World::new();
    named(&world.path("working-copy"), "todo");
    fs::create_dir_all(world.global("")).unwrap();
    symlink(world.path("working-copy"), world.global("link")).unwrap();
    assert_eq!(
        started(&discover(&world.search())),
        [("todo", Scope::Global, world.global("link").as_path())]
    );
    fs::remove_dir_all(world.path("working-copy")).unwrap();
    assert_eq!(
        refusal(&discover(&world.search())),
        format!("`{}`: does not exist", world.global("link").display())
    );
}

#[test]
fn a_dangling_manifest_symlink_is_an_error() {
    let world = World::new();
    fs::create_dir_all(world.global("a")).unwrap();
    symlink("gone", world.global("a/extension.json")).unwrap();
    let discovery = discover(&world.search());
    assert!(matches!(discovery.refused[0].reason, FindError::Missing));
    assert!(discovery.without_manifest.is_empty());
}

#[test]
fn a_missing_directory_is_fine_and_an_unreadable_one_is_an_error() {
    let world = World::new();
    let discovery = discover(&world.search());
    assert!(discovery.refused.is_empty(), "{discovery:?}");

    // Uses a file instead of permissions, because root ignores permissions.
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/extensions"), "").unwrap();
    named(&world.project("p"), "p");
    let discovery = discover(&world.trusting());
    assert_eq!(started_names(&discovery), ["p"]);
    let [refused] = &discovery.refused[..] else {
        panic!("{discovery:?}")
    };
    assert_eq!(refused.scope, Scope::Global);
    assert_eq!(refused.path, world.path("home/extensions"));
    assert!(matches!(refused.reason, FindError::Io(_)), "{refused:?}");
}

#[test]
fn a_dangling_extensions_symlink_is_an_error() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    symlink("/nowhere/extensions", world.path("home/extensions")).unwrap();
    assert_eq!(
        refusal(&discover(&world.search())),
        format!(
            "`{}`: does not exist",
            world.path("home/extensions").display()
        )
    );
}

#[test]
fn a_relative_working_directory_gives_absolute_paths() {
    // The search finds only the explicit extension.
    let world = World::new();
    named(&world.path("x"), "x");
    let discovery = discover(&Search {
        cwd: PathBuf::from("no/such/dir"),
        explicit: vec![PathBuf::from("ext"), world.path("x")],
        ..world.search()
    });
    assert_eq!(started_names(&discovery), ["x"]);
    assert!(discovery.refused[0].path.is_absolute(), "{discovery:?}");
}
