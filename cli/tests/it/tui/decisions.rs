//! `/why` and audit mode on the screen.

use std::fs;

use serde_json::json;

use super::{scenes::scene, screen::Screen};
use crate::support::{World, text};

/// Blocks commands that contain `rm`.
const GUARD: &str = r#"
import json, sys
print('{"type": "hello", "name": "no-rm"}\n{"type": "subscribe", "intercept": ["tool_call"]}\n{"type": "ready"}', flush=True)
for frame in map(json.loads, sys.stdin):
    if frame["type"] == "event_intercept":
        block = "rm " in frame["tool_args"].get("command", "")
        answer = {"block": True, "reason": "rm is not allowed here"} if block else {}
        print(json.dumps({"type": "event_intercept_response", "id": frame["id"], **answer}), flush=True)
    elif frame["type"] == "shutdown":
        break
"#;

#[test]
fn why_shows_decisions_and_the_status_bar_shows_audit_mode() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let dir = world.path("no-rm");
        fs::create_dir(&dir).expect("failed to create directory");
        fs::write(dir.join("guard.py"), GUARD).expect("failed to write");
        let manifest = json!({"name": "no-rm", "exec": "python3", "args": ["guard.py"]});
        fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
        let args = ["--provider", "demo", "-e", text(&dir), "--audit", "no-rm"];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_for("ext 1/1");
        screen.wait_for("audit: no-rm");
        screen.send("/why");
        screen.wait_for("no extension has intercepted anything in this session");
        screen.send("/call bash {\"command\": \"rm -f none; echo done\"}");
        screen.wait_for("✓ bash");
        screen.wait_idle();
        screen.send("/why");
        screen.wait_for("would have blocked: rm is not allowed here (audit)");
        screen.wait_idle();
        scene(&format!("decisions_{suffix}"), &world, &screen);
        screen.leave();
    }
}
