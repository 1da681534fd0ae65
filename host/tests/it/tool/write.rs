use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use serde_json::json;

use super::{Bench, has};

fn with(path: &str, content: &str) -> serde_json::Value {
    json!({"path": path, "content": content})
}

#[tokio::test]
async fn write_creates_parent_directories_and_replaces_files() {
    for jail in [false, true] {
        let bench = Bench::set_up(|config| config.jail = jail);
        let text = bench.ok("write", with("a/b/c", "one\ntwo\n")).await;
        assert_eq!(text, "created `a/b/c`: 2 lines, 8 bytes");
        let text = bench.ok("write", with("a/b/c", "x\r\ny")).await;
        assert_eq!(text, "replaced `a/b/c`: 2 lines, 4 bytes (it had 8 bytes)");
        assert_eq!(bench.get("a/b/c"), b"x\r\ny");
        let absolute = bench.at("d/e").display().to_string();
        bench.ok("write", with(&absolute, "")).await;
        assert_eq!(bench.get("d/e"), b"");
        bench.check_nothing_left();
    }
}

#[tokio::test]
async fn write_keeps_the_file_mode_and_new_files_get_the_default() {
    let bench = Bench::new();
    let mode = |path: &str| {
        let found = fs::metadata(bench.at(path)).expect("a file");
        found.permissions().mode() & 0o7777
    };
    bench
        .bash(
            "umask 022; touch usual; printf x > run; chmod 751 run; printf x > own; chmod 600 own",
        )
        .await;
    for path in ["new", "run", "own"] {
        bench.ok("write", with(path, "y")).await;
    }
    assert_eq!((mode("run"), mode("own")), (0o751, 0o600));
    // Compare with a new file, so that the test works with any umask.
    fs::write(bench.at("as_usual"), "").expect("written");
    assert_eq!(mode("new"), mode("as_usual"));
}

#[tokio::test]
async fn write_replaces_the_file_atomically() {
    let bench = Bench::new();
    bench.put("x", "old");
    fs::hard_link(bench.at("x"), bench.at("y")).expect("linked");
    let before = fs::metadata(bench.at("x")).expect("a file").ino();
    bench.ok("write", with("x", "new")).await;
    assert_ne!(fs::metadata(bench.at("x")).expect("a file").ino(), before);
    assert_eq!(
        (bench.get("x"), bench.get("y")),
        (b"new".to_vec(), b"old".to_vec())
    );
    bench.check_nothing_left();
}

#[tokio::test]
async fn write_follows_symlinks_and_keeps_them() {
    for jail in [false, true] {
        let bench = Bench::set_up(|config| config.jail = jail);
        fs::create_dir(bench.at("real")).expect("made");
        bench.put("real/file", "old");
        symlink("real", bench.at("folder")).expect("linked");
        symlink("../folder/file", bench.at("real/link")).expect("linked");
        symlink("folder/link", bench.at("chain")).expect("linked");
        bench.ok("write", with("chain", "new")).await;
        assert_eq!(bench.get("real/file"), b"new");
        for link in ["folder", "real/link", "chain"] {
            assert!(bench.at(link).is_symlink(), "{link}");
        }
        symlink("nowhere", bench.at("dangling")).expect("linked");
        let text = bench.err("write", with("dangling", "x")).await;
        has(
            &text,
            "`dangling` is a link to `nowhere`, which does not exist",
        );
        assert!(!bench.at("nowhere").exists());
        bench.check_nothing_left();
    }
}

#[tokio::test]
async fn unwritable_paths_are_errors_and_stay_unchanged() {
    let bench = Bench::new();
    bench
        .bash("mkfifo fifo; mkdir folder; echo x > file; ln -s loop loop")
        .await;
    for (path, why) in [
        ("fifo", "is a FIFO"),
        ("folder", "is a folder"),
        ("folder/", "ends with `/`"),
        (".", "is a folder"),
        ("folder/..", "is a folder"),
        ("file/x", "goes through a file"),
        ("loop", "too many links"),
        ("/dev/null", "is a device"),
        ("", "the path is empty"),
        (&"x".repeat(300), "File name too long"),
    ] {
        has(&bench.err("write", with(path, "x")).await, why);
    }
    assert_eq!(bench.get("file"), b"x\n");
    bench.check_nothing_left();
}
