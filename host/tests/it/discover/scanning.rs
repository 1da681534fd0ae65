//! Which entries of an extensions directory count as extensions.

use super::*;

#[test]
fn other_files_and_directories_are_ignored() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("real"), "real");
    named(&fixture.global(".staging-1"), "staged");
    fs::write(fixture.global("README.md"), "").unwrap();
    fs::create_dir(fixture.global("empty")).unwrap();
    let discovery = discover(&fixture.search());
    assert_eq!(discovery.extensions.len(), 1);
    assert_eq!(started_names(&discovery), ["real"]);
    assert_eq!(discovery.without_manifest, [fixture.global("empty")]);
    assert!(discovery.refused.is_empty(), "{discovery:?}");
}

#[test]
fn a_symlinked_directory_is_followed() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("working-copy"), "todo");
    fs::create_dir_all(fixture.global("")).unwrap();
    symlink(fixture.path("working-copy"), fixture.global("link")).unwrap();
    assert_eq!(
        started(&discover(&fixture.search())),
        [("todo", Scope::Global, fixture.global("link").as_path())]
    );
    fs::remove_dir_all(fixture.path("working-copy")).unwrap();
    assert_eq!(
        refusal(&discover(&fixture.search())),
        format!("`{}`: does not exist", fixture.global("link").display())
    );
}

#[test]
fn a_dangling_manifest_symlink_is_an_error() {
    let fixture = DiscoveryFixture::new();
    fs::create_dir_all(fixture.global("a")).unwrap();
    symlink("gone", fixture.global("a/extension.json")).unwrap();
    let discovery = discover(&fixture.search());
    assert!(matches!(discovery.refused[0].reason, FindError::Missing));
    assert!(discovery.without_manifest.is_empty());
}

#[test]
fn a_missing_directory_is_fine_and_an_unreadable_one_is_an_error() {
    let fixture = DiscoveryFixture::new();
    let discovery = discover(&fixture.search());
    assert!(discovery.refused.is_empty(), "{discovery:?}");

    // Put a file in place of the directory, because root could read it whatever its permissions.
    fs::create_dir_all(fixture.path("home")).unwrap();
    fs::write(fixture.path("home/extensions"), "").unwrap();
    named(&fixture.project("p"), "p");
    let discovery = discover(&fixture.trusting());
    assert_eq!(started_names(&discovery), ["p"]);
    let [refused] = &discovery.refused[..] else {
        panic!("{discovery:?}")
    };
    assert_eq!(refused.scope, Scope::Global);
    assert_eq!(refused.path, fixture.path("home/extensions"));
    assert!(matches!(refused.reason, FindError::Io(_)), "{refused:?}");
}

#[test]
fn a_dangling_extensions_symlink_is_an_error() {
    let fixture = DiscoveryFixture::new();
    fs::create_dir_all(fixture.path("home")).unwrap();
    symlink("/nowhere/extensions", fixture.path("home/extensions")).unwrap();
    assert_eq!(
        refusal(&discover(&fixture.search())),
        format!(
            "`{}`: does not exist",
            fixture.path("home/extensions").display()
        )
    );
}

#[test]
fn a_relative_working_directory_gives_absolute_paths() {
    // The working directory does not exist, so only the extension with an absolute path is found.
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("x"), "x");
    let discovery = discover(&Search {
        cwd: PathBuf::from("no/such/dir"),
        explicit: vec![PathBuf::from("ext"), fixture.path("x")],
        ..fixture.search()
    });
    assert_eq!(started_names(&discovery), ["x"]);
    assert!(discovery.refused[0].path.is_absolute(), "{discovery:?}");
}
