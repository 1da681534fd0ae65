//! `zot-conform baseline` and `--baseline`: known failures.

use std::fs;

use crate::support::{Extension, code_and_text};

/// An extension that never replies to its command.
const SILENT: &str = r#"
import json, sys
for frame in ({"type": "hello", "name": "silent", "capabilities": ["commands"]},
              {"type": "register_command", "name": "hush"}, {"type": "ready"}):
    print(json.dumps(frame), flush=True)
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        print('{"type":"shutdown_ack"}', flush=True)
        break
"#;

#[test]
fn a_known_failure_is_ignored_until_it_passes() {
    let extension = Extension::python("silent", SILENT);
    let list = extension.path("known.txt");
    let list = list.to_str().expect("valid UTF-8");
    // Use a short deadline for the reply that never arrives, and a long one for the start, because
    // the machine may be busy.
    let quick = [
        "--only",
        "CMD-0?",
        "--profile",
        "quick",
        "--timeout-scale",
        "0.1",
        "--startup-timeout",
        "300",
    ];

    let (code, text) = code_and_text(&extension.conform(&quick));
    assert_eq!(code, Some(1), "{text}");

    let dir = extension.dir();
    let dir = dir.to_str().expect("valid UTF-8");
    let write = [&["baseline", list, dir][..], &quick].concat();
    let (code, text) = code_and_text(&crate::support::conform(&write));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("1 known failure in "), "{text}");
    let written = fs::read_to_string(list).expect("the list");
    assert!(written.contains("\nCMD-01  # one response"), "{written}");

    let with = [&quick[..], &["--baseline", list]].concat();
    let (code, text) = code_and_text(&extension.conform(&with));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\nconforms: 1 known failure, "), "{text}");

    // Now that the extension is fixed, the baseline is outdated.
    let mended = SILENT.replace(
        "    if json",
        "    frame = json.loads(line)\n    if frame['type'] == 'command_invoked':\n        \
         print(json.dumps({'type': 'command_response', 'id': frame['id']}), flush=True)\n    if json",
    );
    extension.rewrite(&mended);
    let (code, text) = code_and_text(&extension.conform(&with));
    assert_eq!(code, Some(5), "{text}");
    assert!(
        text.contains("✗ these checks in the baseline no longer fail: CMD-01"),
        "{text}"
    );
}

#[test]
fn an_unreadable_baseline_is_an_error() {
    let extension = Extension::python("silent", SILENT);
    let (code, text) = code_and_text(&extension.conform(&["--baseline", "no/such/file"]));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.starts_with("error: cannot read the baseline `no/such/file`"),
        "{text}"
    );
}
