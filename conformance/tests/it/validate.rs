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
    // The write fails if the process exits without reading its input, which is fine.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("ends")
}

fn code_and_text(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("valid UTF-8"),
    )
}

#[test]
fn a_valid_stream() {
    let (code, text) = code_and_text(&validate(&["examples/streams/weather.ndjson"], b""));
    assert_eq!((code, text.as_str()), (Some(0), "✓ 5 frames, all valid\n"));
}

#[test]
fn errors_name_line_and_pointer() {
    let input = "\u{feff}{\"type\":\"hello\",\"name\":\"x\"}\r\n\nLoading...\n{\"type\":\"notify\",\"level\":\"fatal\"}\n{\"type\":\"dance\"}\n{\"type\":\"ready\"}";
    let (code, text) = code_and_text(&validate(&["-"], input.as_bytes()));
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "✗ -:3: not JSON: expected value at column 1\n\
         ✗ -:4: notify: /level: \"fatal\" is not one of \"info\", \"success\", \"warn\", \"error\"\n\
         ! -:5: unknown type \"dance\", which is ignored\n\
         5 frames, 2 invalid\n",
    );
}

#[test]
fn frames_are_validated_by_direction() {
    let ack = br#"{"type":"tool_call","id":"1","name":"x","args":[]}"#;
    assert_eq!(
        validate(&["-"], ack).status.code(),
        Some(0),
        "unknown to extensions"
    );
    let (code, text) = code_and_text(&validate(&["--from", "host", "-"], ack));
    assert_eq!(code, Some(1));
    assert!(
        text.starts_with("✗ -:1: tool_call: /args: a list is not an object\n"),
        "{text}"
    );
}

#[test]
fn an_oversized_line_is_rejected_and_the_next_one_read() {
    let mut input = format!(
        "{{\"type\":\"submit\",\"text\":\"{}\"}}\n",
        "x".repeat(9 << 20)
    )
    .into_bytes();
    input.extend_from_slice(b"{\"type\":\"ready\"}\n");
    let (code, text) = code_and_text(&validate(&["-"], &input));
    assert_eq!(
        (code, text.as_str()),
        (
            Some(1),
            "✗ -:1: line is longer than 4 MiB\n2 frames, 1 invalid\n"
        )
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
fn no_frames_is_an_error() {
    let (code, text) = code_and_text(&validate(&["-"], b"\n\n"));
    assert_eq!(
        (code, text.as_str()),
        (Some(2), "error: no frames in standard input\n")
    );
    let (code, text) = code_and_text(&validate(&["no/such/file"], b""));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: cannot open `no/such/file`: No such file or directory (os error 2)\n"
    );
}
