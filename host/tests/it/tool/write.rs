use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use serde_json::json;

use super::{ToolFixture, has};

fn with(path: &str, content: &str) -> serde_json::Value {
    json!({"path": path, "content": content})
}

#[tokio::test]
async fn write_creates_parent_directories_and_replaces_files() {
    for jail in [false, true] {
        let fixture = ToolFixture::set_up(|config| config.jail = jail);
        let text = fixture.ok("write", with("a/b/c", "one\ntwo\n")).await;
        assert_eq!(text, "created `a/b/c`: 2 lines, 8 bytes");
        let text = fixture.ok("write", with("a/b/c", "x\r\ny")).await;
        assert_eq!(
            text,
            "replaced `a/b/c`: 2 lines, 4 bytes (previously 8 bytes)"
        );
        assert_eq!(fixture.get("a/b/c"), b"x\r\ny");
        let absolute = fixture.at("d/e").display().to_string();
        fixture.ok("write", with(&absolute, "")).await;
        assert_eq!(fixture.get("d/e"), b"");
        fixture.check_nothing_left();
    }
}

#[tokio::test]
async fn write_keeps_the_file_mode_and_new_files_get_the_default() {
    let fixture = ToolFixture::new();
    let mode = |path: &str| {
        let found = fs::metadata(fixture.at(path)).unwrap();
        found.permissions().mode() & 0o7777
    };
    fixture
        .bash(
            "umask 022; touch usual; printf x > run; chmod 751 run; printf x > own; chmod 600 own",
        )
        .await;
    for path in ["new", "run", "own"] {
        fixture.ok("write", with(path, "y")).await;
    }
    assert_eq!((mode("run"), mode("own")), (0o751, 0o600));
    // Compare with a new file, so that the test works with any umask.
    fs::write(fixture.at("as_usual"), "").unwrap();
    assert_eq!(mode("new"), mode("as_usual"));
}

#[tokio::test]
async fn write_replaces_the_file_atomically() {
    let fixture = ToolFixture::new();
    fixture.put("x", "old");
    fs::hard_link(fixture.at("x"), fixture.at("y")).unwrap();
    let before = fs::metadata(fixture.at("x")).unwrap().ino();
    fixture.ok("write", with("x", "new")).await;
    assert_ne!(fs::metadata(fixture.at("x")).unwrap().ino(), before);
    assert_eq!(
        (fixture.get("x"), fixture.get("y")),
        (b"new".to_vec(), b"old".to_vec())
    );
    fixture.check_nothing_left();
}

#[tokio::test]
async fn write_follows_symlinks_and_keeps_them() {
    for jail in [false, true] {
        let fixture = ToolFixture::set_up(|config| config.jail = jail);
        fs::create_dir(fixture.at("real")).unwrap();
        fixture.put("real/file", "old");
        symlink("real", fixture.at("folder")).unwrap();
        symlink("../folder/file", fixture.at("real/link")).unwrap();
        symlink("folder/link", fixture.at("chain")).unwrap();
        fixture.ok("write", with("chain", "new")).await;
        assert_eq!(fixture.get("real/file"), b"new");
        for link in ["folder", "real/link", "chain"] {
            assert!(fixture.at(link).is_symlink(), "{link}");
        }
        symlink("nowhere", fixture.at("dangling")).unwrap();
        let text = fixture.err("write", with("dangling", "x")).await;
        has(
            &text,
            "`dangling` is a symlink to `nowhere`, which does not exist",
        );
        assert!(!fixture.at("nowhere").exists());
        fixture.check_nothing_left();
    }
}

#[tokio::test]
async fn unwritable_paths_are_errors_and_stay_unchanged() {
    let fixture = ToolFixture::new();
    fixture
        .bash("mkfifo fifo; mkdir folder; echo x > file; ln -s loop loop")
        .await;
    for (path, why) in [
        ("fifo", "is a FIFO"),
        ("folder", "is a folder"),
        ("folder/", "ends with `/`"),
        (".", "is a folder"),
        ("folder/..", "is a folder"),
        ("file/x", "a part of it is not a folder"),
        ("loop", "too many levels of symlinks"),
        ("/dev/null", "is a device"),
        ("", "path is empty"),
        (&"x".repeat(300), "File name too long"),
    ] {
        has(&fixture.err("write", with(path, "x")).await, why);
    }
    assert_eq!(fixture.get("file"), b"x\n");
    fixture.check_nothing_left();
}
