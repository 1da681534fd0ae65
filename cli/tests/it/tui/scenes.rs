//! Snapshots of the main screens.

use std::fs;

use serde_json::json;

use super::{puppet, screen::Screen};
use crate::support::{World, demo_script};

/// Takes a snapshot of the screen, without the parts that differ between runs.
pub(super) fn scene(name: &str, world: &World, screen: &Screen) {
    // The rest of a large frame can arrive later. The status bar is its last row.
    screen.wait_until("a whole frame", |text| {
        text.trim_end()
            .lines()
            .last()
            .is_some_and(|bar| bar.contains(" · $"))
    });
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
        (r"scratch/\S+", "scratch/[file]"),
        (r"\b\d\d:\d\d:\d\d\b", "[clock]"),
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
fn the_popup_and_help_show_all_commands_and_ext_labels_its_columns() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        puppet::install(&world);
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_for("ext 1/1");
        screen.keys("/");
        screen.wait_for(" more");
        let mut seen = screen.text();
        // Scroll through the whole list.
        for _ in 0..zot_protocol::BUILTIN_COMMANDS.len() + 12 {
            let before = screen.text();
            screen.keys("\x1b[B");
            screen.wait_until("another row", |text| text != before);
            seen.push_str(&screen.text());
        }
        for (name, _) in zot_protocol::BUILTIN_COMMANDS {
            assert!(
                seen.contains(&format!("/{name} ")),
                "{name} is not in the popup"
            );
        }
        for name in "ask write show nothing fail panel note notes unnote submit hang die".split(' ')
        {
            assert!(
                seen.contains(&format!("/{name} ")),
                "{name} is not in the popup"
            );
        }
        // The first row follows the last one.
        screen.wait_for("› /help");
        screen.keys("\x1b[6~\x1b[6~");
        screen.wait_for(" above");
        scene(&format!("popup_scrolled_{suffix}"), &world, &screen);
        screen.keys("\x03");
        screen.wait_idle();

        screen.send("/help");
        screen.wait_for("Commands from puppet");
        screen.wait_idle();
        let all = screen.all();
        for (name, _) in zot_protocol::BUILTIN_COMMANDS {
            assert!(
                all.contains(&format!("/{name} ")),
                "{name} is not in the help"
            );
        }
        scene(&format!("help_{suffix}"), &world, &screen);

        screen.send("/ext");
        screen.wait_for("› ✓ puppet");
        screen.wait_for("name    state    response, median / worst");
        scene(&format!("extensions_{suffix}"), &world, &screen);
        screen.keys("\x1b");
        screen.wait_idle();
        screen.leave();
    }
}

/// Takes snapshots only. Other tests cover the behaviour of these features.
#[test]
fn a_directory_a_draft_from_an_editor_and_an_export() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        fs::create_dir(world.work().join("docs")).expect("failed to create directory");
        fs::write(world.work().join("docs/page.md"), "x").expect("failed to write");
        let editor = world.path("editor");
        fs::write(&editor, "printf 'one line\\nand another\\n' > \"$1\"").expect("failed to write");
        let editor = format!("sh {}", editor.display());
        let variables = [("VISUAL", editor.as_str())];
        let mut screen = Screen::with(&world, size, &["--provider", "demo"], &variables);
        screen.wait_idle();
        screen.keys("look at @docs");
        screen.wait_for("docs/page.md");
        scene(&format!("directory_{suffix}"), &world, &screen);
        screen.keys("\x03");
        screen.wait_without("docs/page.md");

        screen.keys("\x07");
        screen.wait_for("› one line");
        screen.wait_for("  and another");
        scene(&format!("draft_{suffix}"), &world, &screen);
        screen.keys("\r");
        screen.wait_for("I am the demo model");
        screen.wait_idle();

        screen.send("/export talk.md");
        screen.wait_for("exported to");
        screen.wait_idle();
        scene(&format!("export_{suffix}"), &world, &screen);
        screen.leave();
    }
}

#[test]
fn the_exit_says_how_to_resume() {
    let id = regex::Regex::new(r"--resume=\w+").expect("invalid regex");
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_idle();
        screen.send("hello");
        screen.wait_for("I am the demo model");
        screen.wait_idle();
        screen.send("/exit");
        assert_eq!(screen.ended(), 0);
        screen.wait_for("resume this session with: zot ");
        let text = screen.all().replace(env!("CARGO_PKG_VERSION"), "[version]");
        let text = id.replace_all(text.trim(), "--resume=[id]").into_owned();
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!(format!("exit_{suffix}"), text));
    }
}
