//! `--ext` paths.

use super::*;

#[test]
fn ext_accepts_a_directory_or_a_manifest_absolute_or_relative() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("project/ext/todo"), "todo");
    let dir = fixture.path("project/ext/todo");
    for path in [
        "ext/todo",
        "./ext/todo/",
        "ext/todo/extension.json",
        "../project/ext/todo",
        dir.to_str().unwrap(),
    ] {
        let discovery = fixture.explicit(&[path]);
        assert_eq!(
            started(&discovery),
            [("todo", Scope::Explicit, dir.as_path())],
            "{path}"
        );
    }
}

#[test]
fn a_missing_path_is_reported_and_the_others_load() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("project/b"), "b");
    let discovery = fixture.explicit(&["nope", "nope/extension.json", "b"]);
    assert_eq!(started_names(&discovery), ["b"]);
    let path = fixture.path("project/nope");
    assert_eq!(
        refusals(&discovery),
        [
            format!("`{}`: does not exist", path.display()),
            format!("`{}/extension.json`: does not exist", path.display()),
        ]
    );
}

#[test]
fn a_directory_without_a_manifest_is_an_error() {
    let fixture = DiscoveryFixture::new();
    fs::create_dir_all(fixture.path("project/b")).unwrap();
    let manifest = fixture.path("project/b/extension.json");
    assert_eq!(
        refusal(&fixture.explicit(&["b"])),
        format!("`{}`: does not exist", manifest.display())
    );
}

#[test]
fn a_file_that_is_not_a_manifest_is_an_error() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("project/b"), "b");
    fs::write(fixture.path("project/b/main.py"), "").unwrap();
    let discovery = fixture.explicit(&["b/main.py"]);
    assert!(matches!(
        discovery.refused[0].reason,
        FindError::NotAnExtension
    ));
    assert_eq!(started_names(&discovery), [""; 0]);
}

#[test]
fn an_empty_path_is_not_the_working_directory() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("project"), "project");
    assert_eq!(started_names(&fixture.explicit(&["."])), ["project"]);
    assert!(refusal(&fixture.explicit(&[""])).contains("the path is empty"));
}
