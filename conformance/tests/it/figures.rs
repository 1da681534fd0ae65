//! Measures how long a run of the default profile takes. The times are printed, not asserted,
//! because the machine may be busy.

use serde_json::{Value, json};
use zot_test_support::skip::python;

use crate::{fixture::Staged, stage::example, support::code_and_text};

/// Like the quick start examples, this extension never sends `ready`.
const NEVER_READY: &str = r#"
import json, sys

def emit(frame):
    print(json.dumps(frame), flush=True)

emit({"type": "hello", "name": "unready", "capabilities": ["commands", "tools"]})
emit({"type": "register_command", "name": "greet"})
emit({"type": "register_tool", "name": "count", "schema": {"type": "object", "properties": {"text": {"type": "string"}}}})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        emit({"type": "command_response", "id": frame["id"], "action": "display", "display": "hello"})
    if frame["type"] == "tool_call":
        emit({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "done"}]})
    if frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
"#;

fn seconds(report: &str) -> f64 {
    let report: Value = serde_json::from_str(report).expect("a report");
    report["took_ms"].as_f64().expect("a number") / 1e3
}

#[test]
fn the_default_profile_finishes_in_seconds() {
    let (Some(stage), Some(python)) = (example("hello"), python()) else {
        return;
    };
    let ran = stage.conform(&["ext", "--report", "json"]);
    let with_sdk = seconds(&ran.out);
    let manifest = json!({"name": "unready", "exec": python, "args": ["main"]});
    let script = Staged::with_script(python, &manifest, NEVER_READY);
    let (_, report) = code_and_text(&script.conform(&["--report", "json"]));
    let never_ready = seconds(&report);
    eprintln!(
        "the default profile: an SDK extension {with_sdk:.1} s (5 s at most), \
         a script that never sends `ready` {never_ready:.1} s (10 s at most)"
    );
    // Fails only if the run hangs.
    assert!(with_sdk < 120.0 && never_ready < 120.0);
}
