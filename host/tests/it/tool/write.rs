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
async fn a_file_is_made_with_what_is_above_it_and_replaced() {
    for jail in [false, true] {
        let bench = Bench::set_up(|config| config.jail = jail);
        let text = bench.ok("write", with("a/b/c", "one\ntwo\n")).await;
        assert_eq!(text, "created `a/b/c`: 2 lines, 8 bytes");
        let text = bench.ok("write", with("a/b/c", "x\r\ny")).await;
        assert_eq!(text, "replaced `a/b/c`: 2 lines, 4 bytes (previously 8 bytes)");
        assert_eq!(bench.get("a/b/c"), b"x\r\ny");
        let absolute = bench.at("d/e").display().to_string();
        bench.ok("write", with(&absolute, "")).await;
        assert_eq!(bench.get("d/e"), b"");
        bench.nothing_left();
    }
}

#[tokio::test]
async fn the_mode_stays_and_a_new_file_has_the_usual_one() {
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
    // Whatever the mask of whoever runs this is.
    fs::write(bench.at("as_usual"), "").expect("written");
    assert_eq!(mode("new"), mode("as_usual"));
}

#[tokio::test]
async fn it_is_another_file_under_the_name_and_never_half_of_one() {
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
    bench.nothing_left();
}

#[tokio::test]
async fn a_link_is_followed_and_stays() {
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
            "`dangling` is a symlink to `nowhere`, which does not exist",
        );
        assert!(!bench.at("nowhere").exists());
        bench.nothing_left();
    }
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_stays() {
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
        ("file/x", "a part of it is not a folder"),
        ("loop", "too many levels of symlinks"),
        ("/dev/null", "is a device"),
        ("", "path is empty"),
        (&"x".repeat(300), "File name too long"),
    ] {
        has(&bench.err("write", with(path, "x")).await, why);
    }
    assert_eq!(bench.get("file"), b"x\n");
    bench.nothing_left();
}
