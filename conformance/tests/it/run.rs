//! The `run`, `list`, `explain` and exchange commands: their selection, output and exit codes.

use std::{fs, path::PathBuf, process::Command};

use regex::Regex;
use serde_json::{Value, json};
use zot_test_support::skip::python;

use crate::{
    fixture::Staged,
    support::{code_and_text, conform},
};

/// An extension with these registrations, which replies to every call.
fn small(python: &str, registrations: &[Value]) -> Staged {
    let manifest = json!({"name": "small", "exec": python, "args": ["-S", "-E", "main"]});
    let frames = Value::from(registrations).to_string();
    let script = format!(
        r#"
import json, sys

def emit(frame):
    print(json.dumps(frame), flush=True)

emit({{"type": "hello", "name": "small", "capabilities": ["commands", "tools"]}})
for frame in json.loads({frames:?}):
    emit(frame)
emit({{"type": "ready"}})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        emit({{"type": "tool_result", "id": frame["id"], "content": [{{"type": "text", "text": "done"}}]}})
    if frame["type"] == "shutdown":
        emit({{"type": "shutdown_ack"}})
        break
"#
    );
    Staged::with_script(python, &manifest, &script)
}

fn tool(schema: &Value, more: &Value) -> Value {
    let mut tool = json!({"type": "register_tool", "name": "look", "schema": schema});
    if let (Value::Object(tool), Value::Object(more)) = (&mut tool, more) {
        tool.extend(more.clone());
    }
    tool
}

/// Returns the exit code and the verdict of each check in the report.
fn verdicts(staged: &Staged, args: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let output = staged.conform(&[&["--report", "json"], args].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let outcomes = report["outcomes"].as_array().expect("an array").iter();
    let outcomes = outcomes.map(|it| (text(&it["id"]), text(&it["verdict"])));
    (output.status.code(), outcomes.collect())
}

/// Removes ids, paths and process ids.
fn tidy(staged: &Staged, text: &str) -> String {
    let text = text.replace(&staged.dir().display().to_string(), "[dir]");
    let ids = Regex::new(r"\bc[0-9a-f]+-[0-9]+\b").expect("a valid regex");
    let temporary = Regex::new(r#""[^"]*/zot-conform-[^/"]*/"#).expect("a valid regex");
    let text = ids.replace_all(&text, "[id]");
    temporary.replace_all(&text, "\"[tmp]/").into_owned()
}

#[test]
fn selecting_no_check_is_an_error() {
    let Some(python) = python() else { return };
    let staged = small(python, &[]);
    let (code, text) = code_and_text(&staged.conform(&["--only", "NOPE-*"]));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: no checks selected\nhint: run `zot-conform list` to see their ids\n"
    );
    let (code, text) = code_and_text(&staged.conform(&["--report", "papyrus"]));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: unknown report format `papyrus`\nhint: available formats: pretty, json, junit, tap, github, html\n"
    );
}

#[test]
fn exercising_nothing_is_an_error() {
    let Some(python) = python() else { return };
    let staged = small(python, &[]);
    let (code, text) = code_and_text(&staged.conform(&["--only", "TOL-*"]));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.ends_with("error: no check was run, so nothing was tested\n"),
        "{text}"
    );
}

#[test]
fn an_unsatisfiable_schema_is_not_exercised() {
    let Some(python) = python() else { return };
    let never = json!({"type": "object", "properties": {"a": false}, "required": ["a"]});
    let staged = small(python, &[tool(&never, &json!({}))]);
    let (code, found) = verdicts(&staged, &["--only", "TOL-01"]);
    assert_eq!(code, Some(1));
    assert_eq!(found, [("TOL-01".to_owned(), "not_exercised".to_owned())]);
    let (_, text) = code_and_text(&staged.conform(&["--only", "TOL-01"]));
    assert!(
        text.contains("tool `look` could not be called: found no value that satisfies"),
        "{text}"
    );
}

#[test]
fn an_invalid_schema_blocks_its_tool() {
    let Some(python) = python() else { return };
    let typo = json!({"type": "object", "properties": {"a": {"type": "sting"}}});
    let staged = small(python, &[tool(&typo, &json!({}))]);
    let (code, found) = verdicts(&staged, &["--only", "TOL-01", "--only", "REG-03"]);
    let found: Vec<_> = found.iter().map(|(_, verdict)| verdict.as_str()).collect();
    assert_eq!((code, &*found), (Some(1), &["fail", "blocked"][..]));
}

#[test]
fn interactive_tools_need_a_user() {
    let Some(python) = python() else { return };
    let staged = small(python, &[tool(&json!({}), &json!({"interactive": true}))]);
    let (code, found) = verdicts(&staged, &["--only", "TOL-*", "--profile", "full"]);
    assert!(
        found.iter().all(|(_, verdict)| verdict == "not_applicable"),
        "{found:?}"
    );
    assert_eq!(code, Some(2));
}

#[test]
fn levels_skips_and_profiles() {
    let Some(python) = python() else { return };
    let staged = small(python, &[tool(&json!({}), &json!({}))]);
    let only = |args: &[&str]| {
        let (code, found) = verdicts(&staged, &[&["--only", "TOL-*"], args].concat());
        let ids: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
        (code, ids.join(" "))
    };
    let musts = "TOL-01 TOL-02 TOL-03 TOL-05 TOL-10 TOL-11".to_owned();
    assert_eq!(only(&["--level", "must"]), (Some(0), musts));
    let rest = "TOL-03 TOL-05 TOL-11".to_owned();
    let skip = [
        "--level", "must", "--skip", "TOL-01", "--skip", "tol-02", "--skip", "TOL-10",
    ];
    assert_eq!(
        only(&skip),
        (Some(2), rest),
        "n/a and withheld checks count as nothing tried"
    );

    let (code, text) = code_and_text(&staged.conform(&["--only", "TOL-*"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("– excluded by the profile `safe`: TOL-04 TOL-05 TOL-06; try --profile full"),
        "{text}"
    );
}

#[test]
fn strict_turns_a_warning_into_a_failure() {
    let Some(python) = python() else { return };
    let staged = Staged::with_fault(python, Some("LIF-04"), &json!({}));
    let warn = [("LIF-04".to_owned(), "warn".to_owned())];
    assert_eq!(
        verdicts(&staged, &["--only", "LIF-04"]),
        (Some(0), warn.to_vec())
    );
    assert_eq!(
        verdicts(&staged, &["--only", "LIF-04", "--strict"]),
        (Some(1), warn.to_vec())
    );
}

#[test]
fn a_bare_command_needs_no_manifest() {
    let Some(python) = python() else { return };
    let staged = Staged::with_fault(python, None, &json!({}));
    let script = staged.dir().join("broken.py");
    let script = script.to_str().expect("valid UTF-8");
    let args = [
        "run",
        "--profile",
        "quick",
        "--",
        python,
        "-S",
        "-E",
        script,
    ];
    let (code, text) = code_and_text(&conform(&args));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("broken  "), "{text}");
    assert!(
        text.contains("✓ Manifest          1 pass, 4 n/a, 1 withheld"),
        "{text}"
    );
}

#[test]
fn the_catalogue_is_listed_and_explained() {
    let (code, text) = code_and_text(&conform(&["list"]));
    assert_eq!(code, Some(0));
    assert_eq!(text.lines().count(), zot_conform::catalogue().count());
    assert!(
        text.contains("\nTOL-05  must    hostile arguments get one reply (--profile full)\n"),
        "{text}"
    );
    let (code, text) = code_and_text(&conform(&["list", "--json"]));
    let list: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, &list[0]["id"]), (Some(0), &json!("MAN-01")));

    let (code, text) = code_and_text(&conform(&["explain", "tol-05"]));
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("explain", text);
    let (code, text) = code_and_text(&conform(&["explain", "NOPE"]));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: no check matches `NOPE`\nhint: run `zot-conform list` to see all checks\n"
    );
}

#[test]
fn an_exchange_is_printed_as_frames() {
    let Some(python) = python() else { return };
    let staged = Staged::with_fault(python, None, &json!({}));
    let dir = staged.dir();
    let dir = dir.to_str().expect("valid UTF-8");
    let mut seen = String::new();
    for args in [
        &["call", dir, "weather", r#"{"city":"Berlin"}"#][..],
        &["command", dir, "/greet", "dear", "reader"],
        &["intercept", dir, "tool_call"],
    ] {
        let (code, text) = code_and_text(&conform(args));
        assert_eq!(code, Some(0), "{text}");
        let text = tidy(&staged, &text);
        // Skip the handshake, which is always the same.
        let from = text.find("\n← {\"type\": \"ready\"}\n").expect("ready");
        seen += text[from..].split_once("ready\"}\n").expect("more").1;
        seen += "\n";
    }
    insta::assert_snapshot!("exchanges", seen);
}

#[test]
fn an_impossible_exchange_is_reported() {
    let Some(python) = python() else { return };
    let staged = Staged::with_fault(python, None, &json!({}));
    let dir = staged.dir();
    let dir = dir.to_str().expect("valid UTF-8");
    let mut seen = String::new();
    for (args, expected) in [
        (&["call", dir, "wether"][..], 1),
        (&["call", dir, "weather", "[1]"], 2),
        (&["call", dir, "weather", "{"], 2),
        (&["command", dir, "greeet"], 1),
        (&["intercept", dir, "tool_cal"], 1),
        (&["intercept", dir, "tool_call", r#"{"tool_name":7}"#], 1),
        (&["call", "no/such/dir", "weather"], 3),
    ] {
        let output = conform(args);
        assert_eq!(output.status.code(), Some(expected), "{args:?}");
        let text = String::from_utf8(output.stderr).expect("valid UTF-8");
        seen += &format!("{} {}\n{}\n", args[0], args[2], tidy(&staged, &text));
    }
    insta::assert_snapshot!("exchanges_that_cannot_be", seen);
}

#[test]
fn verbose_shows_every_frame() {
    let Some(python) = python() else { return };
    let staged = small(python, &[]);
    let (code, text) = code_and_text(&staged.conform(&["--only", "LIF-02", "--verbose"]));
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "← {\"type\": \"hello\", \"name\": \"small\"",
        "→ {\"type\":\"hello_ack\",",
        "→ {\"type\":\"shutdown\"}\n→ (closed stdin)\n← {\"type\": \"shutdown_ack\"}\n← (exit status 0)",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

/// The progress line is erased before the report.
#[test]
fn progress_is_shown_on_a_terminal() {
    let Some(python) = python() else { return };
    let staged = Staged::with_script(
        python,
        &json!({"name": "slow", "exec": python, "args": ["-S", "-E", "main"]}),
        "import sys, time\ntime.sleep(1)\nprint('{\"type\":\"hello\",\"name\":\"slow\"}\\n{\"type\":\"ready\"}', flush=True)\nsys.stdin.read()\n",
    );
    let args = ["--only", "LIF-03"];
    let screen = Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/type_lines.py"
        ))
        .arg("")
        .arg(env!("CARGO_BIN_EXE_zot-conform"))
        .arg(staged.dir())
        .args(args)
        .output()
        .expect("python starts");
    let screen = String::from_utf8(screen.stdout).expect("valid UTF-8");
    let (before, report) = screen.rsplit_once("\r\x1b[2K").expect("a line");
    let line =
        Regex::new(r"^[⠀-⣿] (waiting for `hello` and the registrations \d+ s|\d+/\d+( · [A-Z]{3}-\d\d \d+ s)?)$").expect("a valid regex");
    let drawn: Vec<&str> = before.split("\r\x1b[2K").skip(1).collect();
    assert!(!drawn.is_empty(), "{screen:?}");
    assert!(drawn.iter().all(|it| line.is_match(it)), "{drawn:?}");
    assert!(report.contains("conforms\u{1b}[0m: 1 pass"), "{report}");
    let output = staged.conform(&args);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn nothing_is_left_behind() {
    let Some(python) = python() else { return };
    // The first fixture leaves child processes behind, and the second does not exit on shutdown.
    for fault in ["LIF-07", "LIF-01"] {
        let staged = Staged::with_fault(python, Some(fault), &json!({}));
        let (_, text) = code_and_text(&staged.conform(&["--only", "LIF-*"]));
        assert!(text.contains(fault), "{text}");
        assert_eq!(staged.left(), Vec::<String>::new());
        assert_eq!(processes_in(&staged.dir()), Vec::<String>::new());
    }
}

/// Returns the command lines of processes with this working directory.
fn processes_in(dir: &PathBuf) -> Vec<String> {
    if !cfg!(target_os = "linux") {
        let listed = Command::new("pgrep")
            .args(["-fl", &dir.display().to_string()])
            .output();
        let listed = listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        return listed
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect();
    }
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let inside = entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == *dir));
    inside
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

/// Creates the fixture with one of its methods changed.
fn changed(python: &str, method: &str) -> Staged {
    let staged = Staged::with_fault(python, Some("CHANGED"), &json!({}));
    let file = staged.dir().join("faults.py");
    let faults = fs::read_to_string(&file).expect("the faults");
    let changed = format!("class CHANGED(Good):\n{method}\n\n\nALL = ");
    let (before, after) = faults.split_once("ALL = ").expect("the list");
    fs::write(file, format!("{before}{changed}{after}")).expect("a file");
    staged
}

#[test]
fn a_shutdown_ack_on_sigterm_is_only_recorded() {
    let Some(python) = python() else { return };
    let handler = "    def begin(self):\n        signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'{\"type\":\"shutdown_ack\"}\\n'), os._exit(0)))\n        super().begin()";
    let staged = changed(python, handler);
    let (code, text) = code_and_text(&staged.conform(&[
        "--only",
        "LIF-06",
        "--only",
        "ROB-10",
        "--timeout-scale",
        "10",
    ]));
    assert_eq!(code, Some(0), "{text}");
    let note = "it sent `shutdown_ack`, which is only needed after `shutdown`";
    assert!(text.replace("\n            ", " ").contains(note), "{text}");
}

#[test]
fn another_name_in_hello_is_a_warning() {
    let Some(python) = python() else { return };
    let staged = Staged::with_fault(python, Some("HEL-03"), &json!({}));
    let args = ["--only", "HEL-03"];
    assert_eq!(staged.conform(&args).status.code(), Some(0));
    let strict = [&args[..], &["--strict"]].concat();
    assert_eq!(staged.conform(&strict).status.code(), Some(1));
}

/// The frames name a tool that no extension registers, so the transcript must not require it.
#[test]
fn a_failure_with_an_unregistered_tool_can_be_repeated() {
    let Some(python) = python() else { return };
    let silent = "    def tool(self, name, args):\n        return super().tool(name, args) if name in TOOLS else None\n\n    def result(self, id, result):\n        if result:\n            super().result(id, result)";
    let staged = changed(python, silent);
    let home = staged.dir().join("home");
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
            .args(args)
            .env("ZOT_HOME", &home)
            .output();
        code_and_text(&output.expect("zot-conform starts"))
    };
    let dir = staged.dir();
    let dir = dir.to_str().expect("valid UTF-8");
    let (code, text) = run(&[dir, "--only", "TOL-08"]);
    assert_eq!(code, Some(0), "{text}");
    let repeat = Regex::new("repeat: zot-conform (replay [a-z0-9-]+)").expect("a valid regex");
    let repeat = repeat.captures(&text).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = repeat[1].split(' ').chain([dir]).collect();
    let (code, text) = run(&words);
    assert_eq!(code, Some(1), "{text}");
    let what = "no `tool_result` for a call to `zot_conform_no_such_tool` within 4 s";
    assert!(text.replace("\n  ", " ").contains(what), "{text}");
}

#[test]
fn an_error_is_printed_once() {
    let (code, text) = code_and_text(&conform(&["replay", "no/such.zt.ndjson"]));
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: cannot read `no/such.zt.ndjson`: No such file or directory (os error 2)\n"
    );
}

/// Ctrl-C removes the progress line, and the exit status reports the signal.
#[test]
fn an_interrupt_removes_the_progress_line() {
    let Some(python) = python() else { return };
    let staged = Staged::with_script(
        python,
        &json!({"name": "slow", "exec": python, "args": ["-S", "-E", "main"]}),
        "import time\ntime.sleep(60)\n",
    );
    let script = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown, sent = b"", False
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    shown += some
    if b"waiting for" in shown and not sent:
        sent = True
        os.write(terminal, b"\x03")
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown + b"exit %d" % os.waitstatus_to_exitcode(status))
"#;
    let output = Command::new(python)
        .args(["-c", script, env!("CARGO_BIN_EXE_zot-conform")])
        .arg(staged.dir())
        .output()
        .expect("python starts");
    let screen = String::from_utf8(output.stdout).expect("valid UTF-8");
    assert!(screen.ends_with("\r\u{1b}[2Kexit 130"), "{screen:?}");
}
