//! Files of 100 MB.

use std::{fs::File, io::Write};

use serde_json::json;

use super::{ToolFixture, has};
use crate::support::{resident_kib, run_in_own_process};

const SIZE: u64 = 100 << 20;

#[tokio::test]
async fn a_100_mb_text_file_is_read_in_bounded_memory() {
    run_in_own_process!();
    let fixture = ToolFixture::new();
    let mut file = File::create(fixture.at("text")).unwrap();
    // Each line has 16 bytes, so that the number of lines follows from the size.
    let lines = usize::try_from(SIZE).unwrap() / 16;
    for block in 0..lines / 65_536 {
        let text: Vec<String> = (0..65_536)
            .map(|n| format!("line {:>10}\n", block * 65_536 + n + 1))
            .collect();
        file.write_all(text.concat().as_bytes()).unwrap();
    }
    file.write_all(b"the end").unwrap();
    let before = resident_kib();
    has(&fixture.read("text").await, "continue with offset=2001");
    let far = 6_000_000;
    let text = fixture
        .ok("read", json!({"path": "text", "offset": far, "limit": 1}))
        .await;
    has(&text, &format!("{far:>6}\tline {far:>10}\n"));
    let text = fixture
        .ok("read", json!({"path": "text", "offset": lines + 1}))
        .await;
    has(&text, "the end\n\n(no newline at the end of the file)");
    let text = fixture
        .err("read", json!({"path": "text", "offset": lines + 2}))
        .await;
    has(&text, "has only 6,553,601 lines");
    let edits = json!([{"old_text": "the end", "new_text": "x"}]);
    let text = fixture
        .err("edit", json!({"path": "text", "edits": edits}))
        .await;
    has(
        &text,
        "it is 104,857,607 bytes, but the limit is 16,777,216",
    );
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
}

#[tokio::test]
async fn a_100_mb_line_and_a_100_mb_binary_are_read_in_bounded_memory() {
    run_in_own_process!();
    let fixture = ToolFixture::new();
    let mut file = File::create(fixture.at("line")).unwrap();
    for _ in 0..100 {
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    File::create(fixture.at("hole"))
        .unwrap()
        .set_len(SIZE)
        .unwrap();
    let before = resident_kib();
    let text = fixture.read("line").await;
    has(&text, "line 1 is truncated after 2000 of 104,857,600 bytes");
    has(&text, "no newline at the end");
    let text = fixture.err("read", json!({"path": "hole"})).await;
    has(&text, "NUL bytes (104,857,600 bytes)");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
}

#[tokio::test]
async fn a_file_of_the_maximum_size_can_be_edited() {
    let fixture = ToolFixture::new();
    let text = "a line of text\n".repeat((16 << 20) / 15);
    fixture.put("x", format!("first\n{}", &text[..text.len() - 15]));
    let edits = json!([{"old_text": "first", "new_text": "1st"}]);
    let shown = fixture
        .ok("edit", json!({"path": "x", "edits": edits}))
        .await;
    has(&shown, "-first\n+1st\n a line of text\n");
    assert!(fixture.get("x").starts_with(b"1st\na line"));
}

/// Only the first 64 MiB are stored.
#[tokio::test]
async fn a_100_mb_output_is_read_in_bounded_memory() {
    run_in_own_process!();
    let fixture = ToolFixture::new();
    let before = resident_kib();
    let text = fixture
        .bash("yes 123456789012345 | head -c 104857600; echo end")
        .await;
    has(&text, "the first 67108864 bytes are in");
    has(&text, "end\n");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
    fixture.check_nothing_left();
}
