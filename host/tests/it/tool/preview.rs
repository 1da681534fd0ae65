//! What a call to `write` or `edit` would change.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};
use zot_host::Preview;

use super::ToolFixture;
use crate::support::{args, within};

async fn preview(fixture: &ToolFixture, tool: &str, with: Value) -> Option<Preview> {
    within("a preview", fixture.toolbox.preview(tool, args(with))).await
}

async fn diff(fixture: &ToolFixture, tool: &str, with: Value) -> String {
    match preview(fixture, tool, with).await {
        Some(Preview::Diff(diff)) => diff,
        other => panic!("{other:?}"),
    }
}

async fn reason(fixture: &ToolFixture, tool: &str, with: Value) -> String {
    match preview(fixture, tool, with).await {
        Some(Preview::Unavailable(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old_text": old, "new_text": new}]})
}

#[tokio::test]
async fn a_preview_is_the_diff_of_the_call_and_changes_nothing() {
    let fixture = ToolFixture::new();
    fixture.put("a", "one\ntwo\n");
    let call = edit("a", "two", "zwei");
    let shown = diff(&fixture, "edit", call.clone()).await;
    assert_eq!(shown, "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n");
    let call_write = json!({"path": "a", "content": "one\n"});
    let shown_write = diff(&fixture, "write", call_write).await;
    assert_eq!(shown_write, "--- a\n+++ a\n@@ -1,2 +1 @@\n one\n-two\n");
    let call_new = json!({"path": "folder/new", "content": "x"});
    let shown_new = diff(&fixture, "write", call_new).await;
    assert!(
        shown_new.contains("@@ -0,0 +1 @@\n+x\n\\ No newline"),
        "{shown_new}"
    );
    let same = json!({"path": "a", "content": "one\ntwo\n"});
    assert_eq!(diff(&fixture, "write", same).await, "");
    assert_eq!(fs::read_to_string(fixture.at("a")).unwrap(), "one\ntwo\n");
    assert!(!fixture.at("folder").exists());
    // The call then does what the preview showed.
    let outcome = fixture.run("edit", call).await;
    assert!(
        format!("{:?}", outcome.content).contains("-two\\n+zwei"),
        "{outcome:?}"
    );
    fixture.check_nothing_left();
}

#[tokio::test]
async fn only_write_and_edit_have_a_preview() {
    let fixture = ToolFixture::new();
    for tool in ["read", "bash", "skill", "other"] {
        let preview = preview(&fixture, tool, json!({"command": "touch x"})).await;
        assert_eq!(preview, None, "{tool}");
    }
    assert!(!fixture.at("x").exists());
}

#[tokio::test]
async fn a_preview_that_cannot_be_computed_says_why() {
    let fixture = ToolFixture::new();
    fixture.put("a", "one\n");
    fs::write(fixture.at("latin"), b"\xfcber\n").unwrap();
    fs::write(fixture.at("binary"), b"a\0b\n").unwrap();
    fixture.put("old-mac", "a\rb\r");
    fixture.put("long", "old line\n".repeat(40_000));
    fs::create_dir(fixture.at("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.at("fifo"), 0o600.into()).unwrap();
    symlink("nowhere", fixture.at("dangling")).unwrap();
    let write = |path: &str| ("write", json!({"path": path, "content": "new\n"}));
    for ((tool, call), why) in [
        (
            ("edit", edit("a", "two", "x")),
            "this would not change `a`: `old_text` not found",
        ),
        (("edit", edit("none", "two", "x")), "`none` does not exist"),
        (
            ("edit", json!({"path": "a"})),
            "invalid arguments for `edit`",
        ),
        (write("latin"), "`latin` is not plain UTF-8 text"),
        (write("binary"), "`binary` is not plain UTF-8 text"),
        (write("old-mac"), "`old-mac` is not plain UTF-8 text"),
        (write("long"), "no diff: it would be too long"),
        (write("folder"), "`folder` is a folder"),
        (write("fifo"), "`fifo` is a FIFO, not a file"),
        (write("/dev/zero"), "`/dev/zero` is a device, not a file"),
        (write("/proc/self/environ"), "is in /proc"),
        (write("dangling"), "is a symlink to `nowhere`"),
        (
            ("write", json!({"path": "b", "content": "a\rb"})),
            "not plain UTF-8 text",
        ),
    ] {
        let found = reason(&fixture, tool, call).await;
        assert!(found.contains(why), "{found}");
    }
}

#[tokio::test]
async fn a_preview_reads_nothing_outside_of_the_jail() {
    let fixture = ToolFixture::jailed();
    fs::write(fixture.outside("secret"), "SECRET\n").unwrap();
    symlink("../secret", fixture.at("link")).unwrap();
    let outside = fixture.outside("secret").display().to_string();
    for path in ["../secret", "link", &outside] {
        let call = json!({"path": path, "content": "new\n"});
        for (tool, call) in [("write", call), ("edit", edit(path, "SECRET", "x"))] {
            let why = reason(&fixture, tool, call).await;
            assert!(why.contains("the jail is on"), "{path}: {why}");
        }
    }
}

#[tokio::test]
async fn a_newline_in_a_path_does_not_look_like_a_diff() {
    let fixture = ToolFixture::new();
    let path = "a\n@@ -1 +1 @@\n+harmless";
    let shown = diff(&fixture, "write", json!({"path": path, "content": "x\n"})).await;
    assert_eq!(
        shown.lines().filter(|line| line.starts_with("@@")).count(),
        1,
        "{shown}"
    );
}
