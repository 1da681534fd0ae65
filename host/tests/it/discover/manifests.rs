//! Invalid manifests and their error messages.

use super::*;

#[test]
fn a_manifest_is_parsed_and_unknown_fields_are_listed() {
    let fixture = DiscoveryFixture::new();
    write(
        &fixture.global("dir"),
        r#"{"name": "todo", "exec": "node", "version": "2", "colour": 1, "timeouts": {"x": 2}}"#,
    );
    let discovery = discover(&fixture.search());
    let found = discovery.to_start().next().unwrap();
    assert_eq!(found.manifest.exec, "node");
    assert_eq!(found.manifest.version.as_deref(), Some("2"));
    assert_eq!(found.unknown_fields, ["/colour", "/timeouts/x"]);
    assert_eq!(found.manifest_path, fixture.global("dir/extension.json"));
}

#[test]
fn an_invalid_manifest_gives_a_one_line_error_and_the_others_load() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("good"), "good");
    let bad = [
        ("a-empty", "", None),
        ("b-list", "[]", None),
        ("c-exec", r#"{"name": "x"}"#, Some("/exec")),
        ("d-name", r#"{"name": "../x", "exec": "y"}"#, Some("/name")),
        (
            "e-args",
            r#"{"name": "x", "exec": "y", "args": [1]}"#,
            Some("/args/0"),
        ),
        ("f-twice", r#"{"name": "x", "name": "y"}"#, Some("/name")),
    ];
    for (dir, manifest, _) in bad {
        write(&fixture.global(dir), manifest);
    }
    let discovery = discover(&fixture.search());
    assert_eq!(started_names(&discovery), ["good"]);
    assert_eq!(discovery.refused.len(), bad.len());
    for (refused, (dir, _, pointer)) in discovery.refused.iter().zip(bad) {
        let line = refused.to_string();
        assert_eq!(refused.pointer(), pointer, "{line}");
        let file = fixture.global(dir).join("extension.json");
        let start = match pointer {
            Some(pointer) => format!("`{}`: {pointer}: ", file.display()),
            None => format!("`{}`: ", file.display()),
        };
        assert!(line.starts_with(&start), "{line}");
        assert!(line.len() > start.len() && !line.contains('\n'), "{line}");
    }
}

#[test]
fn a_manifest_over_the_size_limit_is_rejected() {
    let fixture = DiscoveryFixture::new();
    let manifest = |size: u64| {
        let text = r#"{"name": "x", "exec": "y"}"#.to_owned();
        let blanks = usize::try_from(size).unwrap() - text.len();
        text + &" ".repeat(blanks)
    };
    write(&fixture.global("x"), &manifest(MANIFEST_BYTES));
    assert_eq!(started_names(&discover(&fixture.search())), ["x"]);
    write(&fixture.global("x"), &manifest(MANIFEST_BYTES + 1));
    assert!(refusal(&discover(&fixture.search())).ends_with("is larger than 1024 KiB"));
}

#[test]
fn manifests_that_are_not_regular_files_are_rejected_without_blocking() {
    let fixture = DiscoveryFixture::new();
    for dir in ["a-fifo", "b-socket", "c-device", "d-dir"] {
        fs::create_dir_all(fixture.global(dir)).unwrap();
    }
    let fifo = fixture.global("a-fifo/extension.json");
    let made = std::process::Command::new("mkfifo").arg(fifo).status();
    assert!(made.unwrap().success());
    let _socket = UnixListener::bind(fixture.global("b-socket/extension.json")).unwrap();
    symlink("/dev/zero", fixture.global("c-device/extension.json")).unwrap();
    fs::create_dir(fixture.global("d-dir/extension.json")).unwrap();
    let discovery = discover(&fixture.search());
    assert_eq!(discovery.refused.len(), 4);
    for refused in &discovery.refused {
        assert!(matches!(refused.reason, FindError::NotAFile), "{refused}");
    }
}

#[test]
fn control_characters_in_a_directory_name_are_escaped() {
    let fixture = DiscoveryFixture::new();
    write(&fixture.global("a\n\u{1b}[2J"), "");
    let line = refusal(&discover(&fixture.search()));
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(line.contains(r"a\n\u{1b}[2J"), "{line}");
}
