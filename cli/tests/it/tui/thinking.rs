//! The model's reasoning: folded, in full, redacted, and held back by interceptors.

use std::fs;

use serde_json::{Value, json};

use super::{
    puppet,
    scenes::scene,
    screen::{CTRL_T, Screen},
};
use crate::support::{World, demo_script, text};

const FIRST: &str = "The user greets me. A short answer is enough.";

fn turns() -> Vec<Value> {
    vec![
        json!({"thinking": FIRST, "signature": "s", "text": "Hello to you."}),
        json!({"thinking": [""], "signature": "sealed", "text": "I may not say why."}),
        json!({"thinking": "I need the time.", "signature": "s",
            "tool_call": {"name": "bash", "args": {"command": "echo noon"}}}),
        json!({"thinking": "It is noon. I can answer.", "signature": "s", "text": "Third answer."}),
        json!({"thinking": "And a last one.", "signature": "s", "text": "Fourth answer."}),
    ]
}

#[test]
fn thinking_is_folded_and_ctrl_t_shows_it() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let script = demo_script(&world, &turns());
        let args = ["--provider", "demo", "--script", &script];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_idle();
        screen.send("hi");
        screen.wait_for("Hello to you.");
        screen.wait_idle();
        screen.wait_for("– thought for ");
        screen.wait_for("s · ctrl+t to show");
        screen.assert_never("short answer is enough");
        screen.send("why?");
        screen.wait_for("I may not say why.");
        screen.wait_for("s · redacted");
        screen.wait_idle();
        scene(&format!("thinking_folded_{suffix}"), &world, &screen);

        screen.send("and then?");
        screen.wait_for("Third answer.");
        screen.wait_idle();
        // Ctrl+t shows every thought since the last prompt, and none from before it.
        screen.keys(CTRL_T);
        screen.wait_for("– thought 1 of 2 · ");
        screen.wait_for("  I need the time.");
        screen.wait_for("– thought 2 of 2 · ");
        screen.wait_for("  It is noon. I can answer.");
        // From now on, reasoning is shown in full.
        screen.send("go on");
        screen.wait_for("Fourth answer.");
        screen.wait_for("  And a last one.");
        screen.wait_idle();
        screen.assert_never("short answer is enough");
        scene(&format!("thinking_shown_{suffix}"), &world, &screen);
        screen.keys(CTRL_T);
        screen.wait_for("– thinking is folded · ctrl+t to show");
        screen.leave();
    }
}

/// The reasoning of a running turn is visible as it arrives once the user asks for it.
#[test]
fn thinking_is_shown_while_it_arrives() {
    let world = World::new();
    let part = |delay: u64, text: &str| json!({"delay_ms": delay, "thinking": [text]});
    let turn = Value::Array(vec![part(0, "first thought\n"), part(600_000, "never")]);
    let script = demo_script(&world, &[turn]);
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("go");
    screen.wait_for("thinking · ");
    screen.keys(CTRL_T);
    screen.wait_for("  first thought");
    screen.keys(CTRL_T);
    screen.wait_without("  first thought");
    screen.keys("\x1b");
    screen.wait_for("· ctrl+t to show");
    screen.wait_for("– cancelled");
    screen.wait_idle();
    screen.leave();
}

/// An interceptor that has changed no answer so far may still redact the next one, so thinking is
/// not shown, neither live nor when the session is resumed.
#[test]
fn thinking_is_not_shown_while_an_extension_intercepts_answers() {
    let program = r#"
import json, sys
def e(**frame): print(json.dumps(frame), flush=True)
e(type="hello", name="watch")
e(type="subscribe", intercept=["assistant_message"])
e(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        e(type="event_intercept_response", id=frame["id"])
    if frame["type"] == "shutdown":
        break
"#;
    let world = World::new();
    let extension = world.installed("watch");
    let manifest = json!({"name": "watch", "exec": "python3", "args": ["main.py"]});
    puppet::write(&extension, &manifest, "main.py", program);
    let script = demo_script(&world, &turns());
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_for("ext 1/1");
    screen.keys(CTRL_T);
    screen.wait_for("– thinking is shown");
    screen.send("hi");
    screen.wait_for("Hello to you.");
    screen.wait_idle();
    screen.leave();
    screen.assert_never("greets me");
    screen.assert_never("thought for");

    let mut screen = Screen::demo(&world, &["--continue"]);
    screen.wait_for("Hello to you.");
    screen.wait_idle();
    screen.leave();
    screen.assert_never("– thought");

    // Without the extension, the resumed session shows its thinking.
    fs::remove_dir_all(text(&extension)).expect("failed to remove");
    let mut screen = Screen::demo(&world, &["--continue"]);
    screen.wait_for("– thought · ctrl+t to show");
    screen.keys(CTRL_T);
    screen.wait_for(FIRST);
    screen.leave();
}

#[test]
fn control_sequences_in_thinking_are_removed() {
    let world = World::new();
    let turn = json!({"thinking": ["a\u{1b}[2Jb\u{1b}", "]0;TITLE\u{7}c\u{202e}"], "signature": "s", "text": "Done."});
    let script = demo_script(&world, &[turn]);
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.keys(CTRL_T);
    screen.wait_for("– thinking is shown");
    screen.send("go");
    screen.wait_for("Done.");
    screen.wait_idle();
    screen.leave();
    assert_eq!(screen.unexpected_sequences(), [""; 0]);
    for forbidden in ["\x1b[2J", "\x1b]", "\u{202e}"] {
        screen.assert_never(forbidden);
    }
}
