//! Files of 100 MB.

use std::{fs::File, io::Write};

use serde_json::json;

use super::{Bench, has};
use crate::support::{alone, resident_kib};

const SIZE: u64 = 100 << 20;

#[tokio::test]
async fn a_100_mb_text_is_read_in_bounded_memory() {
    alone!();
    let bench = Bench::new();
    let mut file = File::create(bench.at("text")).expect("made");
    // Lines of 16 bytes, so that a line number gives its offset.
    let lines = usize::try_from(SIZE).expect("fits") / 16;
    for block in 0..lines / 65_536 {
        let text: Vec<String> = (0..65_536)
            .map(|n| format!("line {:>10}\n", block * 65_536 + n + 1))
            .collect();
        file.write_all(text.concat().as_bytes()).expect("written");
    }
    file.write_all(b"the end").expect("written");
    let before = resident_kib();
    has(&bench.read("text").await, "go on with offset=2001");
    let far = 6_000_000;
    let text = bench
        .ok("read", json!({"path": "text", "offset": far, "limit": 1}))
        .await;
    has(&text, &format!("{far:>6}\tline {far:>10}\n"));
    let text = bench
        .ok("read", json!({"path": "text", "offset": lines + 1}))
        .await;
    has(&text, "the end\n\n(no newline at the end of the file)");
    let text = bench
        .err("read", json!({"path": "text", "offset": lines + 2}))
        .await;
    has(&text, "has only 6,553,601 lines");
    let edits = json!([{"old_text": "the end", "new_text": "x"}]);
    let text = bench
        .err("edit", json!({"path": "text", "edits": edits}))
        .await;
    has(&text, "has 104,857,607 bytes, more than the 16,777,216");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
}

#[tokio::test]
async fn a_100_mb_line_and_a_100_mb_binary_are_read_in_bounded_memory() {
    alone!();
    let bench = Bench::new();
    let mut file = File::create(bench.at("line")).expect("made");
    for _ in 0..100 {
        file.write_all(&vec![b'x'; 1 << 20]).expect("written");
    }
    File::create(bench.at("hole"))
        .expect("made")
        .set_len(SIZE)
        .expect("grown");
    let before = resident_kib();
    let text = bench.read("line").await;
    has(&text, "line 1, which has 104,857,600 bytes");
    has(&text, "no newline at the end");
    let text = bench.err("read", json!({"path": "hole"})).await;
    has(&text, "NUL bytes (104,857,600 bytes)");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
}

#[tokio::test]
async fn a_file_of_the_maximum_size_can_be_edited() {
    let bench = Bench::new();
    let text = "a line of text\n".repeat((16 << 20) / 15);
    bench.put("x", format!("first\n{}", &text[..text.len() - 15]));
    let edits = json!([{"old_text": "first", "new_text": "1st"}]);
    let shown = bench.ok("edit", json!({"path": "x", "edits": edits})).await;
    has(&shown, "-first\n+1st\n a line of text\n");
    assert!(bench.get("x").starts_with(b"1st\na line"));
}

/// Only the first 64 MiB are stored.
#[tokio::test]
async fn a_100_mb_output_is_read_in_bounded_memory() {
    alone!();
    let bench = Bench::new();
    let before = resident_kib();
    let text = bench
        .bash("yes 123456789012345 | head -c 104857600; echo end")
        .await;
    has(&text, "the first 67108864 bytes of all are in");
    has(&text, "end\n");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
    bench.check_nothing_left();
}
