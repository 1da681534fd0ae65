use std::{fs, os::unix::fs::symlink};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{Bench, has, said};
use crate::support::within;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[tokio::test]
async fn text_is_shown_with_line_numbers() {
    let bench = Bench::new();
    bench.put("x", "one\n\n  three\n");
    let text = bench.read("x").await;
    assert_eq!(text, "     1\tone\n     2\t\n     3\t  three\n");
    let absolute = bench.at("x").display().to_string();
    assert_eq!(bench.read(&absolute).await, text);
}

#[tokio::test]
async fn a_partial_read_says_how_to_continue() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=10).map(|n| format!("line {n}\n")).collect();
    bench.put("x", lines.concat());
    let text = bench
        .ok("read", json!({"path": "x", "offset": 3, "limit": 2}))
        .await;
    assert_eq!(
        text,
        "     3\tline 3\n     4\tline 4\n\n(more follows, in a file of 71 bytes: go on with offset=5)\n"
    );
    let text = bench.ok("read", json!({"path": "x", "offset": 10})).await;
    assert_eq!(text, "    10\tline 10\n");
    let text = bench.err("read", json!({"path": "x", "offset": 11})).await;
    assert_eq!(text, "`x` has only 10 lines");
}

#[tokio::test]
async fn lines_and_bytes_are_limited() {
    let bench = Bench::new();
    bench.put("many", "x\n".repeat(5000));
    let text = bench.read("many").await;
    has(&text, "  2000\tx\n");
    has(&text, "go on with offset=2001");
    bench.put("wide", format!("{}\n", "x".repeat(1500)).repeat(100));
    let text = bench.read("wide").await;
    assert!((50 << 10..53 << 10).contains(&text.len()), "{}", text.len());
    has(&text, "go on with offset=35");
    bench.put("long", format!("{}\nshort\n", "é".repeat(3_000_000)));
    let text = bench.read("long").await;
    assert!(text.len() < 3000);
    has(&text, "é […]\n     2\tshort\n");
    has(&text, "line 1, which has 6,000,000 bytes");
    assert!(!text.contains("not UTF-8"), "not cut inside a character");
}

#[tokio::test]
async fn line_endings_encoding_and_a_missing_newline_are_reported() {
    let bench = Bench::new();
    bench.put("crlf", "one\r\ntwo\r\n");
    assert_eq!(
        bench.read("crlf").await,
        "     1\tone\r\n     2\ttwo\r\n\n(lines end with CRLF)\n"
    );
    bench.put("open", "one\ntwo");
    assert_eq!(
        bench.read("open").await,
        "     1\tone\n     2\ttwo\n\n(no newline at the end of the file)\n"
    );
    bench.put("latin", b"caf\xe9\n");
    let text = bench.read("latin").await;
    has(&text, "caf\u{fffd}");
    has(&text, "not UTF-8");
    bench.put("empty", "");
    assert_eq!(bench.read("empty").await, "(the file is empty)");
}

#[tokio::test]
async fn an_image_is_shown_unless_it_is_too_large() {
    let bench = Bench::new();
    bench.put("picture", PNG);
    let outcome = bench.run("read", json!({"path": "picture"})).await;
    let encoded = BASE64_STANDARD.encode(PNG);
    assert_eq!(
        said(&outcome),
        format!("`picture`: image/png, 16 bytes\n<image/png {encoded}>")
    );
    let file = fs::File::options()
        .write(true)
        .open(bench.at("picture"))
        .expect("opened");
    file.set_len(100 << 20).expect("grown");
    let text = bench.err("read", json!({"path": "picture"})).await;
    has(&text, "an image of 104,857,600 bytes, more than");
}

#[tokio::test]
async fn binary_files_are_described_and_not_shown() {
    let bench = Bench::new();
    let own = std::env::current_exe()
        .expect("a path")
        .display()
        .to_string();
    has(
        &bench.err("read", json!({"path": own})).await,
        "an ELF program",
    );
    bench.put("wide", b"\xff\xfeh\0i\0");
    has(
        &bench.err("read", json!({"path": "wide"})).await,
        "UTF-16 text (6 bytes)",
    );
    bench.put("data", [0; 100]);
    has(
        &bench.err("read", json!({"path": "data"})).await,
        "NUL bytes (100 bytes)",
    );
}

#[tokio::test]
async fn a_directory_is_listed() {
    let bench = Bench::new();
    fs::create_dir(bench.at("src")).expect("made");
    bench.put("b", "");
    bench.put("a\nb", "");
    symlink("b", bench.at("link")).expect("linked");
    assert_eq!(
        bench.read(".").await,
        "a folder (`/` folder, `@` link):\na\u{fffd}b\nb\nlink@\nsrc/\n"
    );
    assert_eq!(bench.read("src").await, "(the folder is empty)\n");
    for n in 0..600 {
        bench.put(&format!("src/{n}"), "");
    }
    has(&bench.read("src").await, "(100 more names; 500 are shown");
}

#[tokio::test]
async fn special_and_missing_files_are_errors() {
    let bench = Bench::new();
    bench
        .bash("mkfifo fifo; ln -s nowhere dangling; ln -s loop loop; echo x > file")
        .await;
    let _socket = std::os::unix::net::UnixListener::bind(bench.at("socket")).expect("bound");
    for (path, why) in [
        ("fifo", "`fifo` is a FIFO, not a file"),
        ("socket", "`socket` is a socket, not a file"),
        ("/dev/zero", "`/dev/zero` is a device, not a file"),
        ("/dev/tty", "is a device, not a file"),
        ("missing", "`missing` does not exist"),
        ("file/x", "`file/x` goes through a file"),
        (
            "dangling",
            "`dangling` is a link to `nowhere`, which does not exist",
        ),
        ("loop", "too many links"),
        ("", "the path is empty"),
        ("a\0b", "NUL byte"),
        ("/proc/self/environ", "is in /proc"),
        ("/proc/kmsg", "is in /proc"),
    ] {
        let reading = bench.err("read", json!({"path": path}));
        has(&within(path, reading).await, why);
    }
}
