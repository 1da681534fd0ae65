//! Snapshots of the main screens.

use std::fs;

use serde_json::json;

use super::{puppet, screen::Screen};
use crate::support::{World, demo_script};

/// Takes a snapshot of the screen, without the parts that differ between runs.
fn scene(name: &str, world: &World, screen: &Screen) {
    // Normalise the scroll position, which depends on earlier frames.
    let all = screen.all();
    let rows: Vec<&str> = all.lines().map(str::trim_end).collect();
    let end = rows
        .iter()
        .rposition(|row| !row.is_empty())
        .map_or(0, |at| at + 1);
    let start = end.saturating_sub(screen.rows().len());
    let text = rows[start..end].join("\n");
    let root = world.root().to_str().expect("not valid UTF-8");
    let text = text
        .replace(root, "…")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    let mut text = text;
    for (pattern, instead) in [
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "*"),
        (r"\b\d+s\b", "[time]"),
        (r"\d+(\.\d)? ms", "[ms]"),
    ] {
        let pattern = regex::Regex::new(pattern).expect("invalid regex");
        text = pattern.replace_all(&text, instead).into_owned();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn script(world: &World) -> String {
    demo_script(
        world,
        &[
            json!({
                "text": "I will look at the file first.",
                "tool_call": {"name": "read", "args": {"path": "greet.py"}}
            }),
            json!({"tool_call": {"name": "edit", "args": {
                "path": "greet.py", "edits": [{"old_text": "print('hi')", "new_text": "print('hello')"}]
            }}}),
            json!({"text": "## Done\n\n- `greet.py` says **hello** now\n- nothing else changed\n\n```python\nprint('hello')\n```\n"}),
        ],
    )
}

fn scenes(size: (u16, u16), suffix: &str) {
    let world = World::new();
    puppet::install(&world);
    fs::write(world.work().join("greet.py"), "# greets\nprint('hi')\n").expect("failed to write");
    let script = script(&world);
    let args = ["--provider", "demo", "--script", &script];
    let mut screen = Screen::start(&world, size, &args);
    screen.wait_for("ext 1/1");
    scene(&format!("first_{suffix}"), &world, &screen);

    screen.keys("/s");
    screen.wait_for("/show");
    scene(&format!("popup_{suffix}"), &world, &screen);
    screen.keys("\x03");
    screen.wait_idle();

    screen.send("make it say hello");
    screen.wait_for("nothing else changed");
    screen.wait_idle();
    scene(&format!("turn_{suffix}"), &world, &screen);

    screen.send("/panel");
    screen.wait_for(" by ");
    scene(&format!("panel_{suffix}"), &world, &screen);
    screen.keys("\x1b");
    screen.wait_for("the panel was closed");
    scene(&format!("note_{suffix}"), &world, &screen);
    screen.leave();
}

#[test]
fn screens_at_80x24() {
    scenes((80, 24), "80x24");
}

#[test]
fn screens_at_120x40() {
    scenes((120, 40), "120x40");
}

#[test]
fn confirmation_of_a_tool_call() {
    for (size, suffix) in [((80, 24), "80x24"), ((120, 40), "120x40")] {
        let world = World::new();
        let args = ["--provider", "demo", "--no-yolo"];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_idle();
        screen.send("/call bash {\"command\": \"make test\"}");
        screen.wait_for("── Run bash? ──");
        screen.wait_for("command  make test");
        scene(&format!("question_{suffix}"), &world, &screen);
        screen.keys("n");
        screen.wait_idle();
        screen.leave();
    }
}
