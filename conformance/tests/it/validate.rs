//! `zot-conform validate`.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

fn validate(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
        .arg("validate")
        .args(args)
        .current_dir(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .expect("the workspace"),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("zot-conform starts");
    // One that does not read its input has closed the pipe; that is its right.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("ends")
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("a text"),
    )
}

#[test]
fn a_valid_stream() {
    let (code, said) = said(&validate(&["examples/streams/weather.ndjson"], b""));
    assert_eq!((code, said.as_str()), (Some(0), "✓ 5 frames, all valid\n"));
}

#[test]
fn what_is_wrong_is_said_with_line_and_pointer() {
    let input = "\u{feff}{\"type\":\"hello\",\"name\":\"x\"}\r\n\nLoading...\n{\"type\":\"notify\",\"level\":\"fatal\"}\n{\"type\":\"dance\"}\n{\"type\":\"ready\"}";
    let (code, said) = said(&validate(&["-"], input.as_bytes()));
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "✗ -:3: not JSON: expected value at column 1\n\
         ✗ -:4: notify: /level: \"fatal\" is not one of \"info\", \"success\", \"warn\", \"error\"\n\
         ! -:5: unknown type \"dance\", which is ignored\n\
         5 frames, 2 invalid\n",
    );
}

#[test]
fn the_direction_counts() {
    let ack = br#"{"type":"tool_call","id":"1","name":"x","args":[]}"#;
    assert_eq!(
        validate(&["-"], ack).status.code(),
        Some(0),
        "unknown to extensions"
    );
    let (code, said) = said(&validate(&["--from", "host", "-"], ack));
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("✗ -:1: tool_call: /args: a list is not an object\n"),
        "{said}"
    );
}

#[test]
fn a_line_over_the_limit_is_refused_and_the_next_one_read() {
    let mut input = format!(
        "{{\"type\":\"submit\",\"text\":\"{}\"}}\n",
        "x".repeat(9 << 20)
    )
    .into_bytes();
    input.extend_from_slice(b"{\"type\":\"ready\"}\n");
    let (code, said) = said(&validate(&["-"], &input));
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "✗ -:1: longer than 4 MiB\n2 frames, 1 invalid\n")
    );

    let frame = |bytes: usize| {
        let shell = "{\"type\":\"submit\",\"text\":\"\"}".len();
        format!(
            "{{\"type\":\"submit\",\"text\":\"{}\"}}\n",
            "x".repeat(bytes - shell)
        )
    };
    assert_eq!(
        validate(&["-"], frame(4 << 20).as_bytes()).status.code(),
        Some(0),
        "at the limit"
    );
    assert_eq!(
        validate(&["-"], frame((4 << 20) + 1).as_bytes())
            .status
            .code(),
        Some(1),
        "one byte over"
    );
}

#[test]
fn nothing_to_check_proves_nothing() {
    let (code, text) = said(&validate(&["-"], b"\n\n"));
    assert_eq!(
        (code, text.as_str()),
        (Some(2), "error: no frames in `-`\n")
    );
    let (code, text) = said(&validate(&["no/such/file"], b""));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: cannot open `no/such/file`: No such file or directory (os error 2)\n"
    );
}
