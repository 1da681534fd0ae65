//! Tool calls: their boxes, progress and blocked calls.

use std::fs;

use serde_json::json;

use super::{
    puppet,
    screen::{CTRL_O, Screen},
};
use crate::support::{World, demo_script, text};

#[test]
fn progress_is_shown_while_a_tool_runs_then_its_result() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    let go = world.path("go");
    screen.send(&format!(
        "/call steps {{\"text\": \"all done\", \"until\": \"{}\"}}",
        text(&go)
    ));
    screen.wait_for("│ step 3 of 3");
    screen.wait_for("working · ");
    screen.wait_for("step 1 · esc to cancel");
    fs::write(&go, "").expect("failed to write");
    screen.wait_for("✓ steps [puppet]");
    screen.wait_for("│ all done");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_call_refused_by_a_guard_is_shown_as_blocked() {
    let world = World::new();
    puppet::install_example(&world, "guard");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/call bash {\"command\": \"rm -rf /\"}");
    screen.wait_for("✗ bash blocked  rm -rf /");
    screen.wait_for("! [guard] blocked");
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"echo harm''less\"}");
    screen.wait_for("✓ bash  echo harm''less");
    screen.wait_for("│ harmless");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_long_result_is_collapsed_and_ctrl_o_expands_it() {
    let world = World::new();
    let mut screen = Screen::start(&world, (80, 50), &["--provider", "demo"]);
    screen.wait_idle();
    let script = demo_script(
        &world,
        &[
            json!({"tool_call": {"name": "bash", "args": {"command": "seq -f 'row %g' 20"}}}),
            json!({"text": "Counted."}),
        ],
    );
    screen.leave();
    let args = ["--provider", "demo", "--script", &script];
    let mut screen = Screen::start(&world, (80, 50), &args);
    screen.wait_idle();
    screen.send("count");
    screen.wait_for("Counted.");
    screen.wait_for("│ row 6");
    screen.wait_for("│ … 14 lines · ctrl+o");
    assert!(!screen.text().contains("row 7"));
    screen.keys(CTRL_O);
    screen.wait_for("│ row 20");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let world = World::new();
    fs::write(world.work().join("a.txt"), "one\ntwo\nthree\n").expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send(
        "/call edit {\"path\":\"a.txt\",\"edits\":[{\"old_text\":\"two\",\"new_text\":\"zwei\"}]}",
    );
    screen.wait_for("✓ edit  a.txt");
    screen.wait_until("the lines of a diff", |text| {
        let row = |mark: &str, word: &str| {
            text.lines()
                .any(|row| row.contains('│') && row.contains(mark) && row.contains(word))
        };
        row("-", "two") && row("+", "zwei")
    });
    screen.wait_idle();
    screen.leave();
}

#[test]
fn jail_and_unjail_confine_and_release_the_tools() {
    let world = World::new();
    fs::write(world.path("outside.txt"), "secret").expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/jail");
    screen.wait_for("✓ tools are confined");
    screen.wait_for(" · jailed");
    screen.send("/call read {\"path\": \"../outside.txt\"}");
    screen.wait_for("✗ read failed");
    screen.wait_idle();
    screen.send("/unjail");
    screen.wait_for("✓ tools can access files outside");
    screen.wait_without(" · jailed");
    screen.leave();
}

/// Only the reason tells the user what to do, so it must not be truncated.
#[test]
fn a_long_reason_is_wrapped() {
    let world = World::new();
    let reason = (0..30)
        .map(|n| format!("word{n}"))
        .collect::<Vec<_>>()
        .join(" ");
    let program = format!(
        r#"
import json, sys
def e(**frame): print(json.dumps(frame), flush=True)
e(type="hello", name="strict")
e(type="subscribe", intercept=["tool_call"])
e(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        e(type="notify", level="warn", message="note {reason}")
        e(type="event_intercept_response", id=frame["id"], block=True, reason="{reason}")
    if frame["type"] == "shutdown":
        break
"#
    );
    puppet::write(
        &world.installed("strict"),
        &json!({"name": "strict", "exec": "python3", "args": ["main.py"]}),
        "main.py",
        &program,
    );
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/call bash {\"command\": \"true\"}");
    screen.wait_for("✗ bash blocked");
    screen.wait_for("! [strict] note word0");
    // The reason appears in the result, in the note, and in the answer of the demo model, which
    // repeats the result.
    screen.wait_until("all texts are complete", |text| {
        text.matches("word29").count() == 3
    });
    screen.wait_idle();
    screen.leave();
}
