use std::{fs, os::unix::fs::symlink};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{ToolFixture, has, text_of};
use crate::support::within;

/// The header of an image with one pixel.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU";

#[tokio::test]
async fn text_is_shown_with_line_numbers() {
    let fixture = ToolFixture::new();
    fixture.put("x", "one\n\n  three\n");
    let text = fixture.read("x").await;
    assert_eq!(text, "     1\tone\n     2\t\n     3\t  three\n");
    let absolute = fixture.at("x").display().to_string();
    assert_eq!(fixture.read(&absolute).await, text);
}

#[tokio::test]
async fn a_partial_read_says_how_to_continue() {
    let fixture = ToolFixture::new();
    let lines: Vec<String> = (1..=10).map(|n| format!("line {n}\n")).collect();
    fixture.put("x", lines.concat());
    let text = fixture
        .ok("read", json!({"path": "x", "offset": 3, "limit": 2}))
        .await;
    assert_eq!(
        text,
        "     3\tline 3\n     4\tline 4\n\n(truncated: the file is 71 bytes; continue with offset=5)\n"
    );
    let text = fixture.ok("read", json!({"path": "x", "offset": 10})).await;
    assert_eq!(text, "    10\tline 10\n");
    let text = fixture
        .err("read", json!({"path": "x", "offset": 11}))
        .await;
    assert_eq!(text, "`x` has only 10 lines");
}

#[tokio::test]
async fn lines_and_bytes_are_limited() {
    let fixture = ToolFixture::new();
    fixture.put("many", "x\n".repeat(5000));
    let text = fixture.read("many").await;
    has(&text, "  2000\tx\n");
    has(&text, "continue with offset=2001");
    fixture.put("wide", format!("{}\n", "x".repeat(1500)).repeat(100));
    let text = fixture.read("wide").await;
    assert!((50 << 10..53 << 10).contains(&text.len()), "{}", text.len());
    has(&text, "continue with offset=35");
    fixture.put("long", format!("{}\nshort\n", "é".repeat(3_000_000)));
    let text = fixture.read("long").await;
    assert!(text.len() < 3000);
    has(&text, "é […]\n     2\tshort\n");
    has(&text, "line 1 is truncated after 2000 of 6,000,000 bytes");
    assert!(
        !text.contains("not valid UTF-8"),
        "not cut inside a character"
    );
}

#[tokio::test]
async fn line_endings_encoding_and_a_missing_newline_are_reported() {
    let fixture = ToolFixture::new();
    fixture.put("crlf", "one\r\ntwo\r\n");
    assert_eq!(
        fixture.read("crlf").await,
        "     1\tone\r\n     2\ttwo\r\n\n(lines end with CRLF)\n"
    );
    fixture.put("open", "one\ntwo");
    assert_eq!(
        fixture.read("open").await,
        "     1\tone\n     2\ttwo\n\n(no newline at the end of the file)\n"
    );
    fixture.put("latin", b"caf\xe9\n");
    let text = fixture.read("latin").await;
    has(&text, "caf\u{fffd}");
    has(&text, "not valid UTF-8");
    fixture.put("empty", "");
    assert_eq!(fixture.read("empty").await, "(the file is empty)");
}

#[tokio::test]
async fn an_image_is_shown_unless_it_is_too_large() {
    let fixture = ToolFixture::new();
    fixture.put("picture", PNG);
    let outcome = fixture.run("read", json!({"path": "picture"})).await;
    let encoded = BASE64_STANDARD.encode(PNG);
    assert_eq!(
        text_of(&outcome),
        format!("`picture`: image/png, 33 bytes\n<image/png {encoded}>")
    );
    let file = fs::File::options()
        .write(true)
        .open(fixture.at("picture"))
        .unwrap();
    file.set_len(100 << 20).unwrap();
    let text = fixture.err("read", json!({"path": "picture"})).await;
    has(&text, "the image is 104,857,600 bytes, but the limit is");
    fixture.put("damaged", &PNG[..12]);
    let text = fixture.err("read", json!({"path": "damaged"})).await;
    assert_eq!(text, "cannot show `damaged`: not an image");
}

#[tokio::test]
async fn binary_files_are_described_and_not_shown() {
    let fixture = ToolFixture::new();
    let own = std::env::current_exe().unwrap().display().to_string();
    has(
        &fixture.err("read", json!({"path": own})).await,
        "an ELF program",
    );
    fixture.put("wide", b"\xff\xfeh\0i\0");
    has(
        &fixture.err("read", json!({"path": "wide"})).await,
        "UTF-16 text (6 bytes)",
    );
    fixture.put("data", [0; 100]);
    has(
        &fixture.err("read", json!({"path": "data"})).await,
        "NUL bytes (100 bytes)",
    );
}

#[tokio::test]
async fn a_directory_is_listed() {
    let fixture = ToolFixture::new();
    fs::create_dir(fixture.at("src")).unwrap();
    fixture.put("b", "");
    fixture.put("a\nb", "");
    symlink("b", fixture.at("link")).unwrap();
    assert_eq!(
        fixture.read(".").await,
        "folder (`/` marks a folder, `@` a symlink):\na\u{fffd}b\nb\nlink@\nsrc/\n"
    );
    assert_eq!(fixture.read("src").await, "(the folder is empty)\n");
    for n in 0..600 {
        fixture.put(&format!("src/{n}"), "");
    }
    has(
        &fixture.read("src").await,
        "(100 more names; the first 500 are shown",
    );
}

#[tokio::test]
async fn special_and_missing_files_are_errors() {
    let fixture = ToolFixture::new();
    fixture
        .bash("mkfifo fifo; ln -s nowhere dangling; ln -s loop loop; echo x > file")
        .await;
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    for (path, why) in [
        ("fifo", "`fifo` is a FIFO, not a file"),
        ("socket", "`socket` is a socket, not a file"),
        ("/dev/zero", "`/dev/zero` is a device, not a file"),
        ("/dev/tty", "is a device, not a file"),
        ("missing", "`missing` does not exist"),
        ("file/x", "invalid path `file/x`"),
        (
            "dangling",
            "`dangling` is a symlink to `nowhere`, which does not exist",
        ),
        ("loop", "too many levels of symlinks"),
        ("", "path is empty"),
        ("a\0b", "NUL byte"),
        ("/proc/self/environ", "is in /proc"),
        ("/proc/kmsg", "is in /proc"),
    ] {
        let reading = fixture.err("read", json!({"path": path}));
        has(&within(path, reading).await, why);
    }
}
