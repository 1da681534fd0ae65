//! How long a run takes if a reply never arrives. The times are printed; the bounds are generous,
//! because the machine may be busy, but far below the minute that a host waits.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;
use zot_test_support::skip::python;

use crate::support::{Extension, code_and_text};

/// Time limit for a run. One that waits for a host's full timeout would take at least 60 s.
const BOUND: Duration = Duration::from_secs(45);

/// Returns the script of an extension with the tool `look`, which logs its calls. `indent` is the
/// JSON indentation of its `hello`, and `reply` is the code that handles a call.
fn script(indent: &str, reply: &str) -> String {
    format!(
        r#"
import json, os, sys, time

def emit(frame, **more):
    print(json.dumps(frame, **more), flush=True)

def result(id):
    return {{"type": "tool_result", "id": id, "content": []}}

buffered = open(1, "w", 1 << 16, closefd=False)
emit({{"type": "hello", "name": "waits", "capabilities": ["tools"]}}, indent={indent})
emit({{"type": "register_tool", "name": "look", "schema": {{"type": "object"}}}})
emit({{"type": "ready"}})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        emit({{"type": "shutdown_ack"}})
        break
    if frame["type"] == "tool_call" and frame["name"] == "look":
        open("calls", "a").write("call\n")
        {reply}
    elif frame["type"] == "tool_call":
        emit({{**result(frame["id"]), "content": [{{"type": "text", "text": "no"}}], "is_error": True}})
"#
    )
}

/// The verdict and the findings of a check.
fn outcome<'a>(report: &'a Value, id: &str) -> (&'a str, String) {
    let mut outcomes = report["outcomes"].as_array().expect("a list").iter();
    let outcome = outcomes.find(|it| it["id"] == id).expect("the check");
    let verdict = outcome["verdict"].as_str().expect("a verdict");
    (verdict, outcome["findings"].to_string())
}

/// Runs the checks with the profiles `quick` and `safe`. Prints the times and returns the last
/// report.
fn run(what: &str, script: &str, args: &[&str]) -> Option<(Extension, Value, Option<i32>)> {
    python()?;
    let mut last = None;
    for profile in ["quick", "safe"] {
        let extension = Extension::python("waits", script);
        let began = Instant::now();
        let output =
            extension.conform(&[&["--profile", profile, "--report", "json"], args].concat());
        let took = began.elapsed();
        eprintln!("{what}, {profile}: {:.1} s", took.as_secs_f64());
        assert!(took < BOUND, "{what}: {took:?}");
        let report = serde_json::from_slice(&output.stdout).expect("a report");
        last = Some((extension, report, output.status.code()));
    }
    last
}

fn calls(extension: &Extension) -> usize {
    let calls = fs::read_to_string(extension.dir().join("calls"));
    calls.map_or(0, |calls| calls.lines().count())
}

#[test]
fn a_silent_tool_is_called_only_until_it_is_known_to_be_silent() {
    let ran = run("a silent tool", &script("None", "pass"), &[]);
    let Some((extension, report, code)) = ran else {
        return;
    };
    assert_eq!(code, Some(1));
    let (verdict, findings) = outcome(&report, "TOL-01");
    assert_eq!(verdict, "not_exercised");
    for words in [
        "within 4 s; the host waits 60 s",
        "tool_progress",
        "timeouts.tool_ms",
        "--reply-timeout 60",
    ] {
        assert!(findings.contains(words), "{words}: {findings}");
    }
    // The check calls the tool once, and once more to find out whether stdout is buffered.
    assert_eq!(calls(&extension), 2);
}

#[test]
fn a_reply_with_another_id_is_explained_at_once() {
    let reply = r#"emit(result("last-one"))"#;
    let ran = run("a wrong id", &script("None", reply), &[]);
    let Some((_, report, code)) = ran else { return };
    assert_eq!(code, Some(1));
    let (verdict, findings) = outcome(&report, "TOL-01");
    assert_eq!(verdict, "fail");
    assert!(
        findings.contains("got one with a different `id`"),
        "{findings}"
    );
}

#[test]
fn an_indented_result_is_explained_at_once() {
    let reply = r#"emit(result(frame["id"]), indent=2)"#;
    let ran = run("an indented result", &script("None", reply), &[]);
    let Some((_, report, _)) = ran else { return };
    let (verdict, findings) = outcome(&report, "TOL-01");
    assert_eq!(verdict, "fail");
    assert!(
        findings.contains("got one spread over 5 lines"),
        "{findings}"
    );
    // The frame is reported once, not line by line.
    let (verdict, findings) = outcome(&report, "ROB-09");
    assert_eq!(verdict, "fail");
    assert!(
        findings.contains("`tool_result` is spread over 5 lines"),
        "{findings}"
    );
    assert_eq!(findings.matches("\"what\"").count(), 1, "{findings}");
}

#[test]
fn an_indented_hello_is_explained_at_once() {
    let ran = run("an indented `hello`", &script("2", "pass"), &[]);
    let Some((_, report, code)) = ran else { return };
    assert_eq!(code, Some(3));
    let (verdict, findings) = outcome(&report, "HEL-01");
    assert_eq!(verdict, "fail");
    assert!(
        findings.contains("`hello` is spread over 7 lines"),
        "{findings}"
    );
}

#[test]
fn a_buffered_result_is_explained_within_seconds() {
    // Use a separate buffer, because `PYTHONUNBUFFERED` may be set.
    let reply = r#"buffered.write(json.dumps(result(frame["id"])) + "\n")"#;
    let ran = run("a buffered result", &script("None", reply), &[]);
    let Some((_, report, code)) = ran else { return };
    assert_eq!(code, Some(1));
    let (verdict, findings) = outcome(&report, "TOL-01");
    assert_eq!(verdict, "fail");
    assert!(findings.contains("stdout is block-buffered"), "{findings}");
}

#[test]
fn a_slow_tool_passes_if_it_reports_progress() {
    let reply = r#"
        for second in range(6):
            emit({"type": "tool_progress", "id": frame["id"], "text": f"{second} s"})
            time.sleep(1)
        emit(result(frame["id"]))"#;
    let ran = run(
        "a tool with progress",
        &script("None", reply),
        &["--only", "TOL-01"],
    );
    let Some((_, report, code)) = ran else { return };
    let (verdict, findings) = outcome(&report, "TOL-01");
    assert_eq!((verdict, code), ("pass", Some(0)), "{findings}");
    // The report still notes that the tool is slow.
    assert!(findings.contains("`look` took "), "{findings}");
}

#[test]
fn a_slow_tool_passes_if_it_is_given_time() {
    let Some(_) = python() else { return };
    let slow = script("None", "time.sleep(6)\n        emit(result(frame[\"id\"]))");
    let extension = Extension::python("waits", &slow);
    let args = ["--only", "TOL-01", "--report", "json"];
    let report = |args: &[&str]| {
        let output = extension.conform(args);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        (
            outcome(&report, "TOL-01").0.to_owned(),
            output.status.code(),
        )
    };
    assert_eq!(report(&args), ("not_exercised".to_owned(), Some(1)));
    let patient = [&args[..], &["--reply-timeout", "60"]].concat();
    assert_eq!(report(&patient), ("pass".to_owned(), Some(0)));
    let manifest =
        r#"{"name":"waits","exec":"python3","args":["main.py"],"timeouts":{"tool_ms":60000}}"#;
    fs::write(extension.dir().join("extension.json"), manifest).expect("a manifest");
    assert_eq!(report(&args), ("pass".to_owned(), Some(0)));
}

#[test]
fn one_silent_tool_does_not_block_the_others() {
    let Some(_) = python() else { return };
    let two = script("None", "pass")
        .replace(
            "emit({\"type\": \"ready\"})",
            "emit({\"type\": \"register_tool\", \"name\": \"fine\", \"schema\": {\"type\": \"object\"}})\nemit({\"type\": \"ready\"})",
        )
        .replace("    elif frame", "    elif frame.get(\"name\") == \"fine\":\n        emit(result(frame[\"id\"]))\n    elif frame");
    let extension = Extension::python("waits", &two);
    let (code, text) = code_and_text(&extension.conform(&[]));
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("\nnot shown to conform: 1 not exercised, "),
        "{text}"
    );
    assert!(!text.contains("blocked by"), "{text}");
}

#[test]
fn two_silent_tools_are_enough_to_give_up() {
    let Some(_) = python() else { return };
    let tools = "for name in [\"look\", \"b\", \"c\", \"d\", \"e\"]:\n    emit({\"type\": \"register_tool\", \"name\": name, \"schema\": {\"type\": \"object\"}})";
    let many = script("None", "pass")
        .replace(" and frame[\"name\"] == \"look\"", "")
        .replace("emit({\"type\": \"register_tool\", \"name\": \"look\", \"schema\": {\"type\": \"object\"}})", tools);
    let extension = Extension::python("waits", &many);
    let (code, text) = code_and_text(&extension.conform(&[]));
    assert_eq!(code, Some(1), "{text}");
    let text = text.replace("\n  ", " ");
    assert!(
        text.contains("(skipped after this: `c`, `d`, `e`)"),
        "{text}"
    );
    assert_eq!(calls(&extension), 4, "{text}");
}

#[test]
fn the_progress_line_says_what_a_check_waits_for() {
    let Some(python) = python() else { return };
    let extension = Extension::python("waits", &script("None", "pass"));
    let screen = Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/type_lines.py"
        ))
        .arg("")
        .arg(env!("CARGO_BIN_EXE_zot-conform"))
        .arg(extension.dir())
        .args(["--only", "TOL-01"])
        .output()
        .expect("python starts");
    let screen = String::from_utf8(screen.stdout).expect("valid UTF-8");
    let line = "TOL-01 waiting for `tool_result` for a call to `look` ";
    assert!(screen.contains(line), "{screen:?}");
}
