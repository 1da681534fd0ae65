use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use serde_json::{Value, json};

use super::{ToolFixture, has};

fn one(old: &str, new: &str) -> Value {
    json!({"path": "x", "edits": [{"old_text": old, "new_text": new}]})
}

#[tokio::test]
async fn an_edit_returns_a_diff() {
    let fixture = ToolFixture::new();
    fixture.put("x", "one\ntwo\nthree\n");
    let text = fixture.ok("edit", one("two", "2")).await;
    assert_eq!(
        text,
        "edited `x` (1 edit):\n--- x\n+++ x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    );
    assert_eq!(fixture.get("x"), b"one\n2\nthree\n");
    fixture.check_nothing_left();
}

#[tokio::test]
async fn a_failed_edit_changes_nothing() {
    let fixture = ToolFixture::new();
    fixture.put("x", "a b c a\n");
    for (edits, why) in [
        (
            json!([{"old_text": "b", "new_text": "B"}, {"old_text": "z", "new_text": ""}]),
            "edit 2 of 2: `old_text` not found in the file",
        ),
        (
            json!([{"old_text": "b", "new_text": "B"}, {"old_text": "a", "new_text": "A"}]),
            "edit 2 of 2: `old_text` occurs 2 times",
        ),
        (
            json!([{"old_text": "b c", "new_text": "B"}, {"old_text": "a b", "new_text": "A"}]),
            "edits 1 and 2 overlap at line 1",
        ),
        (json!([]), "`edits` is empty"),
    ] {
        let text = fixture
            .err("edit", json!({"path": "x", "edits": edits}))
            .await;
        has(&text, "did not change `x`: ");
        has(&text, why);
        assert_eq!(fixture.get("x"), b"a b c a\n");
    }
    let edits = json!([{"old_text": "b", "new_text": "B"}, {"old_text": "a", "new_text": "A", "replace_all": true}]);
    fixture
        .ok("edit", json!({"path": "x", "edits": edits}))
        .await;
    assert_eq!(fixture.get("x"), b"A B c A\n");
    fixture.check_nothing_left();
}

#[tokio::test]
async fn quotes_and_trailing_blanks_may_differ_in_the_only_match() {
    let fixture = ToolFixture::new();
    fixture.put("x", "say “yes”  \nor ‘no’\n");
    let text = fixture.ok("edit", one("\"yes\"\nor 'no'", "nothing")).await;
    has(&text, "-say “yes”  \n-or ‘no’\n+say nothing\n");
    assert_eq!(fixture.get("x"), "say nothing\n".as_bytes());
    fixture.put("x", "“a” “a”\n");
    has(&fixture.err("edit", one("\"a\"", "b")).await, "not found");
}

#[tokio::test]
async fn a_match_that_differs_in_white_space_is_shown() {
    let fixture = ToolFixture::new();
    fixture.put("x", "fn f() {\n\tg(1);\n}\n");
    let text = fixture.err("edit", one("    g(1);\n", "")).await;
    has(
        &text,
        "only the whitespace differs, at line 2:\n     2\t\tg(1);",
    );
}

#[tokio::test]
async fn line_endings_encoding_and_mode_are_kept() {
    let fixture = ToolFixture::new();
    for (before, old, new, after) in [
        (
            &b"a\r\nb\r\n"[..],
            "a\nb",
            "1\n2\n3",
            &b"1\r\n2\r\n3\r\n"[..],
        ),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"caf\xe9 a\n", " a", " b", b"caf\xe9 b\n"),
        (b"a\r\nb\n", "b", "c", b"a\r\nc\n"),
    ] {
        fixture.put("x", before);
        fs::set_permissions(fixture.at("x"), fs::Permissions::from_mode(0o750)).unwrap();
        let text = fixture.ok("edit", one(old, new)).await;
        assert_eq!(fixture.get("x"), after, "{text}");
        let mode = fs::metadata(fixture.at("x")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
    }
    fixture.put("x", "a\nb");
    has(
        &fixture.ok("edit", one("b", "c")).await,
        "\\ No newline at end of file",
    );
    fixture.put("x", b"caf\xe9");
    has(&fixture.err("edit", one("caf", "thé")).await, "not UTF-8");
    fixture.put("x", b"a\0b");
    has(&fixture.err("edit", one("a", "b")).await, "binary");
}

#[tokio::test]
async fn missing_files_and_directories_are_errors() {
    let fixture = ToolFixture::new();
    has(
        &fixture.err("edit", one("a", "b")).await,
        "`x` does not exist",
    );
    fs::create_dir(fixture.at("x")).unwrap();
    has(&fixture.err("edit", one("a", "b")).await, "`x` is a folder");
}

#[tokio::test]
async fn a_long_diff_is_truncated_and_all_edits_are_made() {
    let fixture = ToolFixture::new();
    fixture.put("x", "a\n".repeat(20_000));
    let edits = json!([{"old_text": "a", "new_text": "b", "replace_all": true}]);
    let text = fixture
        .ok("edit", json!({"path": "x", "edits": edits}))
        .await;
    assert!(text.len() < 20 << 10, "{}", text.len());
    has(&text, "all edits were made");
    assert_eq!(fixture.get("x"), "b\n".repeat(20_000).as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_lose_nothing() {
    let fixture = Arc::new(ToolFixture::new());
    let lines: Vec<String> = (0..50).map(|n| format!("<{n}>\n")).collect();
    fixture.put("x", lines.concat());
    let edits = (0..50).map(|n| {
        let fixture = Arc::clone(&fixture);
        let edit = one(&format!("<{n}>"), &format!("[{n}]"));
        tokio::spawn(async move { fixture.ok("edit", edit).await })
    });
    for edit in edits.collect::<Vec<_>>() {
        edit.await.expect("no panic");
    }
    let all: Vec<String> = (0..50).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(fixture.get("x"), all.concat().as_bytes());
    fixture.check_nothing_left();
}
