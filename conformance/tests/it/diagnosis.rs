//! The findings in a report: the reason, the location and the hint.

use regex::Regex;
use serde_json::{Value, json};
use zot_test_support::skip::python;

use crate::{fixture::Staged, support::code_and_text};

/// Tool timeout, long enough for the wrong reply to arrive first even on a busy machine.
const SLOW_TOOL_MS: u32 = 8_000;

/// The beginning of the script of a small extension with one tool.
const PREAMBLE: &str = r#"
import json, os, sys

def emit(frame):
    print(json.dumps(frame), flush=True)

def result(id, words):
    emit({"type": "tool_result", "id": id, "content": [{"type": "text", "text": words}]})

emit({"type": "hello", "name": "broken", "capabilities": ["tools"]})
emit({"type": "register_tool", "name": "look", "schema": {"type": "object"}})
emit({"type": "ready"})
"#;

/// Returns the failures in a report, without the parts that change between runs and without the
/// commands that reproduce them.
fn failures(staged: &Staged, args: &[&str]) -> String {
    let (_, text) = code_and_text(&staged.conform(args));
    let first = Regex::new(r"\n\n[✗!] [A-Z]{3}-[0-9]{2} ").expect("a valid regex");
    let from = first.find(&text).map_or(0, |it| it.start() + 2);
    let mut text = text[from..].replace(&staged.dir().display().to_string(), "[dir]");
    for (pattern, with) in [
        (r"\bc[0-9a-f]+-[0-9]+\b", "[id]"),
        (r" \([0-9.]+[\u{a0} ]m?s\)", ""),
        (r" in [0-9.]+ m?s\n", " in [time]\n"),
        // Later versions of Python mark the column in a traceback.
        (r"(?m)^  │ +[~^]+\n", ""),
        (r"(?m)^  input:\n(  │.*\n)*", ""),
        (r"(?m)^  repeat: .*\n", ""),
    ] {
        let pattern = Regex::new(pattern).expect("a valid regex");
        text = pattern.replace_all(&text, with).into_owned();
    }
    text
}

/// Returns the failures for a fault of the fixture.
fn failures_of(fault: &str, more: &Value, args: &[&str]) -> Option<String> {
    let staged = Staged::with_fault(python()?, Some(fault), more);
    Some(failures(&staged, args))
}

/// Returns the failures for a script.
fn failures_of_script(script: &str, more: Value, args: &[&str]) -> Option<String> {
    let python = python()?;
    let mut manifest = json!({"name": "broken", "exec": python, "args": ["-S", "-E", "main"]});
    if let (Value::Object(manifest), Value::Object(more)) = (&mut manifest, more) {
        manifest.extend(more);
    }
    let staged = Staged::with_script(python, &manifest, script);
    Some(failures(&staged, args))
}

fn with_loop(body: &str) -> String {
    format!("{PREAMBLE}\nfor line in sys.stdin:\n    frame = json.loads(line)\n{body}\n")
}

macro_rules! snapshot {
    ($failures:expr) => {
        let Some(text) = $failures else {
            return;
        };
        insta::assert_snapshot!(text);
    };
}

#[test]
fn an_unflushed_hello() {
    let script = "import sys\n\
        sys.stdout.write('{\"type\":\"hello\",\"name\":\"broken\"}\\n')\n\
        for line in sys.stdin:\n    pass\n";
    snapshot!(failures_of_script(script, json!({}), &["--only", "HEL-01"]));
}

#[test]
fn an_unflushed_result() {
    let more = json!({"timeouts": {"tool_ms": 2000}});
    snapshot!(failures_of("TOL-01", &more, &["--only", "TOL-01"]));
}

#[test]
fn a_traceback() {
    let body = "    if frame['type'] == 'tool_call':\n        frame['args']['city'].strip()";
    snapshot!(failures_of_script(
        &with_loop(body),
        json!({}),
        &["--only", "TOL-01"]
    ));
}

#[test]
fn a_wrong_field() {
    snapshot!(failures_of("TOL-02", &json!({}), &["--only", "TOL-02"]));
}

#[test]
fn a_banner_before_hello() {
    snapshot!(failures_of("HEL-01", &json!({}), &["--only", "HEL-01"]));
}

#[test]
fn an_extension_that_waits_for_the_host() {
    snapshot!(failures_of(
        "HEL-01-waits",
        &json!({}),
        &["--only", "HEL-01"]
    ));
}

#[test]
fn a_program_that_is_not_executable() {
    let staged = Staged::with_manifest(r#"{"name": "broken", "exec": "./good.py"}"#);
    insta::assert_snapshot!(failures(&staged, &["--only", "MAN-*"]));
}

#[test]
fn a_wrong_id() {
    let body = "    if frame['type'] == 'tool_call':\n        result('last-one', 'x')";
    let more = json!({"timeouts": {"tool_ms": SLOW_TOOL_MS}});
    let args = ["--only", "TOL-01", "--only", "ROB-10"];
    snapshot!(failures_of_script(&with_loop(body), more, &args));
}

#[test]
fn an_id_as_a_number() {
    let body = "    if frame['type'] == 'tool_call':\n        result(7, 'x')";
    let more = json!({"timeouts": {"tool_ms": SLOW_TOOL_MS}});
    let args = ["--only", "TOL-01", "--only", "TOL-02"];
    snapshot!(failures_of_script(&with_loop(body), more, &args));
}

#[test]
fn a_frame_over_the_limit() {
    let body = "    if frame['type'] == 'tool_call':\n        result(frame['id'], 'x' * (4 << 20))";
    let more = json!({"timeouts": {"tool_ms": SLOW_TOOL_MS}});
    let args = ["--only", "TOL-01", "--only", "ROB-05"];
    snapshot!(
        failures_of_script(&with_loop(body), more, &args).map(|text| {
            let filler = Regex::new("x{100,}|x{9,}(\n *x+)*").expect("a valid regex");
            filler.replace_all(&text, "[x…]").into_owned()
        })
    );
}

#[test]
fn a_reader_that_stops_at_64_kib() {
    let body = "    if len(line) > 64 << 10:\n        sys.exit('bufio.Scanner: token too long')\n    \
        if frame['type'] == 'tool_call':\n        result(frame['id'], 'x')";
    let more = json!({"exec": "./main", "args": [], "language": "go"});
    snapshot!(failures_of_script(
        &with_loop(body),
        more,
        &["--only", "ROB-04"]
    ));
}

#[test]
fn an_exit_in_the_middle_of_a_call() {
    let body = "    if frame['type'] == 'tool_call':\n        os._exit(3)";
    snapshot!(failures_of_script(
        &with_loop(body),
        json!({}),
        &["--only", "TOL-01"]
    ));
}

#[test]
fn a_reply_that_cannot_be_matched_is_explained() {
    for (reply, expected) in [
        (
            "emit({'type': 'command_response', 'id': frame['id']})",
            "got `command_response`",
        ),
        (
            "emit({'type': 'tool_reslt', 'id': frame['id'], 'content': []})",
            "got an unknown frame type `tool_reslt`",
        ),
        (
            "print({'type': 'tool_result', 'id': frame['id']}, flush=True)",
            "got a line that is not JSON",
        ),
    ] {
        let body = format!("    if frame['type'] == 'tool_call':\n        {reply}");
        let Some(text) = failures_of_script(&with_loop(&body), json!({}), &["--only", "TOL-01"])
        else {
            return;
        };
        let text = text.replace("\n  ", " ");
        assert!(text.starts_with("✗ TOL-01 "), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
