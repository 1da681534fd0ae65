//! The first screen, the editor and its completion.

use std::fs;

use serde_json::json;

use super::{
    puppet,
    screen::{CTRL_C, DOWN, ENTER, ESC, Screen, TAB},
};
use crate::support::{World, text};

#[test]
fn the_editor_works_while_an_extension_hangs_at_start() {
    let world = World::new();
    puppet::write(
        &world.installed("mute"),
        &json!({"name": "mute", "exec": "sleep", "args": ["1000"]}),
        "note",
        "",
    );
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("› ask, / for commands");
    screen.wait_for("ext 0/1");
    screen.keys("typed at once");
    screen.wait_for("› typed at once");
    screen.keys(CTRL_C);
    screen.wait_without("typed at once");
    screen.leave();
}

#[test]
fn without_a_key_the_demo_model_answers_and_says_so() {
    let world = World::new();
    let mut screen = Screen::start(&world, (80, 24), &[]);
    screen.wait_for("no API key found; using the demo model");
    screen.wait_for("/login anthropic");
    screen.wait_for("demo · ");
    screen.send("hello");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_prompt_from_the_command_line_is_put_into_the_editor() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &["what", "is", "this"]);
    screen.wait_for("› what is this");
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_slash_lists_built_in_commands_and_those_of_each_extension() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.keys("/s");
    screen.wait_for("/show");
    let rows = screen.rows();
    let at = |text: &str| {
        let found = rows.iter().position(|row| row.contains(text));
        found.unwrap_or_else(|| panic!("no {text}\n{}", rows.join("\n")))
    };
    assert!(at("/sessions") < at("── puppet ──"));
    assert!(at("── puppet ──") < at("/show"));
    assert!(rows[at("/show")].contains("what show does"));
    screen.keys("how");
    screen.wait_without("/sessions");
    screen.keys(TAB);
    screen.keys("x");
    screen.wait_for("› /show x");
    screen.keys(ENTER);
    screen.wait_for("shown by a command");
    // Esc closes the list and keeps the text.
    screen.keys("/he");
    screen.wait_for("show keys and commands");
    screen.keys(ESC);
    screen.wait_until("the list is gone", |text| {
        text.contains("› /he") && !text.contains("/help   ")
    });
    screen.keys(CTRL_C);
    screen.wait_without("› /he");
    // The arrow keys select, and Enter runs.
    screen.keys("/ex");
    screen.wait_for("› /export");
    screen.keys(DOWN);
    screen.wait_for("› /ext");
    screen.keys(DOWN);
    screen.wait_for("› /exit");
    screen.keys(ENTER);
    assert_eq!(screen.ended(), 0);
    screen.assert_restored();
}

#[test]
fn help_includes_extension_commands() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::start(&world, (100, 60), &["--provider", "demo"]);
    screen.wait_for("ext 1/1");
    screen.send("/help");
    screen.wait_for("Commands from puppet");
    for name in ["/reload-ext", "/unjail", "/show", "ctrl+o"] {
        assert!(screen.all().contains(name), "{name}");
    }
    screen.leave();
}

#[test]
fn at_completes_file_names() {
    let world = World::new();
    fs::create_dir(world.work().join("src")).expect("failed to create directory");
    fs::write(world.work().join("src/parser.rs"), "").expect("failed to write");
    fs::write(world.work().join("README.md"), "").expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys("look at @pars");
    screen.wait_for("› src/parser.rs");
    screen.keys(TAB);
    screen.wait_for("› look at @src/parser.rs");
    screen.keys(CTRL_C);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_long_paste_is_collapsed_in_the_editor_and_sent_completely() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    screen.keys(&format!("\x1b[200~{}\x1b[201~", lines.join("\n")));
    screen.wait_until("a chip", |text| {
        !text.contains("line 20") && !text.contains("› ask,")
    });
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    assert!(screen.all().contains("line 29"));
    screen.wait_idle();
    screen.leave();
}

#[test]
fn interactive_mode_needs_a_terminal() {
    let world = World::new();
    let ran = world.zot(&["--provider", "demo"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("needs a terminal"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn an_unusable_home_is_reported_and_zot_works() {
    let world = World::new();
    let home = world.path("a-file");
    fs::write(&home, "not a directory").expect("failed to write");
    let args = ["--provider", "demo"];
    let variables = [("ZOT_HOME", text(&home))];
    let mut screen = Screen::with(&world, (80, 24), &args, &variables);
    screen.wait_idle();
    screen.send("hello");
    screen.wait_for("I am the demo model");
    // The session is not stored, and zot reports that.
    screen.wait_until("zot reports the unusable home", |text| {
        text.contains("a-file")
    });
    screen.wait_idle();
    screen.leave();
}

#[test]
fn an_invalid_configuration_is_reported() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("zot/config.json"), "{\"theme\": \"da").expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("using the defaults");
    screen.wait_idle();
    screen.leave();
}
