//! Confirmation of tool calls.

use std::fs;

use serde_json::{Value, json};

use super::{
    puppet,
    scenes::scene,
    screen::{DOWN, ENTER, ESC, Screen},
};
use crate::support::World;

const PAGE_UP: &str = "\x1b[5~";
const PAGE_DOWN: &str = "\x1b[6~";
const HOME: &str = "\x1b[H";
const END: &str = "\x1b[F";

fn bash(command: &str) -> String {
    format!("/call bash {}", json!({"command": command}))
}

/// Waits for the question, and answers it once it accepts answers.
fn answer(screen: &mut Screen, keys: &str) {
    screen.wait_for("y  yes");
    screen.keys(keys);
    screen.wait_without("y  yes");
}

fn config(world: &World, config: &Value) {
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("zot/config.json"), config.to_string()).expect("failed to write");
}

#[test]
fn calls_are_confirmed_until_the_user_chooses_always() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &["--no-yolo"]);
    screen.wait_for(" · confirm");
    let call = |word: &str| bash(&format!("echo {word} > {word}.txt"));
    let made = |word: &str| world.work().join(format!("{word}.txt")).exists();

    screen.send(&call("one"));
    screen.wait_for("── Run bash? ──");
    screen.wait_for("command  echo one > one.txt");
    screen.wait_for("waiting for you · ");
    assert!(!made("one"), "the call ran before it was confirmed");
    answer(&mut screen, "n");
    screen.wait_for("declined this call to `bash`");
    screen.wait_idle();
    assert!(!made("one"));

    screen.send(&call("two"));
    answer(&mut screen, ENTER);
    screen.wait_for("✓ bash  echo two");
    screen.wait_idle();
    assert!(made("two"));

    // Select "always allow bash" with the arrow keys. A redirection has no prefix to allow.
    screen.send(&call("three"));
    screen.wait_for("y  yes");
    assert!(!screen.text().contains("  p  "), "{}", screen.text());
    screen.keys(DOWN);
    screen.keys(DOWN);
    screen.wait_for("› t  always allow bash");
    screen.keys(ENTER);
    screen.wait_for("✓ bash  echo three");
    screen.wait_idle();
    screen.send(&call("four"));
    screen.wait_for("✓ bash  echo four");
    screen.wait_idle();

    // Another tool needs its own confirmation; "everything" covers all tools.
    screen.send("/call write {\"path\": \"x.txt\", \"content\": \"a\\nb\"}");
    screen.wait_for("── Run write? ──");
    screen.wait_for("2 + b");
    answer(&mut screen, "a");
    screen.wait_for("✓ write  x.txt");
    screen.wait_without(" · confirm");
    screen.wait_idle();

    screen.send("/yolo");
    screen.wait_for("✓ zot will ask before each tool call");
    screen.send(&call("five"));
    screen.wait_for("── Run bash? ──");
    screen.keys(ESC);
    screen.wait_for("declined");
    screen.wait_idle();
    assert!(!made("five"));
    screen.leave();
}

#[test]
fn a_command_and_commands_like_it_can_be_allowed() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &["--no-yolo"]);
    screen.wait_for(" · confirm");
    let runs = |screen: &mut Screen, command: &str| {
        screen.send(&bash(command));
        screen.wait_for(&format!("✓ bash  {command}"));
        screen.wait_idle();
    };
    let is_asked = |screen: &mut Screen, command: &str| {
        screen.send(&bash(command));
        screen.wait_for(&format!("command  {command}"));
        answer(screen, "n");
        screen.wait_idle();
    };

    screen.send(&bash("echo a; echo b"));
    answer(&mut screen, "c");
    screen.wait_for("✓ bash  echo a; echo b");
    screen.wait_idle();
    runs(&mut screen, "echo a; echo b");
    is_asked(&mut screen, "echo a; echo c");
    is_asked(&mut screen, "echo a");

    screen.send(&bash("git log -1"));
    screen.wait_for("p  always allow `git log *`");
    answer(&mut screen, "p");
    screen.wait_idle();
    screen.send(&bash("git log -2"));
    screen.wait_for("bash exit status 128  git log -2");
    screen.wait_idle();
    is_asked(&mut screen, "git log; touch x");
    is_asked(&mut screen, "git status");
    assert!(!world.work().join("x").exists());
    assert!(!world.path("zot/config.json").exists());
    screen.leave();
}

#[test]
fn a_rule_that_is_saved_applies_to_later_sessions() {
    let world = World::new();
    config(&world, &json!({"confirm": true, "model": "demo"}));
    let mut screen = Screen::start(&world, (140, 40), &["--provider", "demo"]);
    screen.wait_for(" · confirm");
    screen.send(&bash("echo one"));
    screen.wait_for(" apply to: this session");
    screen.keys("s");
    screen.wait_for(" apply to: all sessions (saved in config.json)");
    answer(&mut screen, "p");
    let rule = r#"{"tool":"bash","command":"echo one *","caller":"model","do":"allow"}"#;
    screen.wait_for("✓ added to ");
    screen.wait_for(rule);
    screen.wait_idle();
    screen.leave();
    let saved = fs::read_to_string(world.path("zot/config.json")).expect("failed to read");
    let saved: Value = serde_json::from_str(&saved).expect("invalid JSON");
    let rule: Value = serde_json::from_str(rule).expect("invalid JSON");
    let expected = json!({"confirm": true, "model": "demo", "approvals": [rule]});
    assert_eq!(saved, expected);

    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for(" · confirm");
    screen.send(&bash("echo one two"));
    screen.wait_for("✓ bash  echo one two");
    screen.wait_idle();
    screen.send(&bash("echo two"));
    screen.wait_for("── Run bash? ──");
    screen.keys(ESC);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn rules_in_config_json_ask_and_deny_without_confirm() {
    let world = World::new();
    let rules = json!([
        {"tool": "bash", "command": "touch asked*", "do": "ask"},
        {"tool": "bash", "command": "touch denied*", "do": "deny"},
    ]);
    config(&world, &json!({"approvals": rules}));
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send(&bash("touch free"));
    screen.wait_for("✓ bash  touch free");
    screen.wait_idle();
    screen.send(&bash("touch denied"));
    screen.wait_for("✗ bash blocked  touch denied");
    screen.wait_for("has the rule");
    screen.wait_idle();
    screen.send(&bash("touch asked"));
    screen.wait_for(r#"rule  {"tool":"bash","command":"touch asked*","do":"ask"}"#);
    answer(&mut screen, "y");
    screen.wait_for("✓ bash  touch asked");
    screen.wait_idle();
    let made = |name: &str| world.work().join(name).exists();
    assert!(made("free") && made("asked") && !made("denied"));
    screen.leave();
}

#[test]
fn everything_about_a_call_can_be_seen() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &["--no-yolo"]);
    screen.wait_for(" · confirm");
    let lines: Vec<String> = (1..=90).map(|n| format!("echo line-{n}-")).collect();
    screen.send(&bash(&lines.join("\n")));
    screen.wait_for("y  yes");
    screen.wait_for("line-1-");
    screen.wait_for("↑ 0 above · ↓ ");
    let mut seen = String::new();
    let page = |screen: &Screen, seen: &mut String| seen.push_str(&screen.text());
    page(&screen, &mut seen);
    for _ in 0..20 {
        if screen.text().contains("↓ 0 below") {
            break;
        }
        let before = screen.text();
        screen.keys(PAGE_DOWN);
        screen.wait_until("another page", |text| text != before);
        page(&screen, &mut seen);
    }
    for n in 1..=90 {
        assert!(seen.contains(&format!("line-{n}-")), "line {n}: {seen}");
    }
    screen.keys(HOME);
    screen.wait_for("↑ 0 above");
    screen.keys("j");
    screen.wait_for("↑ 1 above");
    screen.keys(END);
    screen.wait_for("echo line-90-");
    screen.wait_for("↓ 0 below");
    // The title says what the question is about.
    screen.wait_for("── Run bash? echo line-1- ──");
    screen.keys(PAGE_UP);
    screen.wait_without("↓ 0 below");
    // After a resize, the lines are wrapped again, and the end can still be reached.
    screen.resize(60, 20);
    screen.keys(END);
    screen.wait_for("echo line-90-");
    screen.wait_for("↓ 0 below");
    screen.resize(120, 140);
    screen.wait_without("↓ 0 below");
    screen.wait_for("echo line-1-");
    screen.wait_for("echo line-90-");
    screen.resize(80, 24);
    // Scrolling does not answer the question.
    screen.wait_for("y  yes");
    answer(&mut screen, "n");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_very_long_argument_is_not_truncated() {
    let world = World::new();
    let turn = json!({"tool_call": {"name": "bash", "args": {
        "command": format!("true {}; touch hidden", "x".repeat(200_000))
    }}});
    let script = crate::support::demo_script(&world, &[turn, json!({"text": "Done."})]);
    let args = ["--provider", "demo", "--no-yolo", "--script", &script];
    let mut screen = Screen::start(&world, (80, 24), &args);
    screen.wait_for(" · confirm");
    screen.send("go");
    screen.wait_for("y  yes");
    screen.keys(END);
    screen.wait_for("touch hidden");
    answer(&mut screen, "n");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn invisible_and_control_characters_are_shown() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &["--no-yolo"]);
    screen.wait_for(" · confirm");
    screen.send(r#"/call bash {"command": "echo \u202eab\u001b[2J\rc"}"#);
    screen.wait_for(r"command  echo \u{202e}ab\u{1b}[2J\rc");
    answer(&mut screen, "n");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn keys_typed_before_a_question_appears_do_not_answer_it() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &["--no-yolo"]);
    screen.wait_for("ext 1/1");
    let script = "sleep 1; touch made.txt";
    screen.keys(&format!("/call bash {{\"command\": \"{script}\"}}"));
    screen.wait_for("made.txt");
    // Keys typed before and while the question appears must not answer it.
    screen.keys("\ryes and always");
    screen.wait_for("── Run bash? ──");
    screen.wait_for("n  no");
    assert!(!world.work().join("made.txt").exists());
    screen.keys("n");
    screen.wait_for("declined this call to `bash`");
    screen.leave_by_force();
}

#[test]
fn config_json_makes_zot_ask_before_each_call() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    for config in [
        "{\"confirm\": true}",
        "{\"confirm\": tr",
        "{\"approvals\": [{\"tool\": \"bash\", \"comand\": \"git *\", \"do\": \"allow\"}]}",
    ] {
        fs::write(world.path("zot/config.json"), config).expect("failed to write");
        let mut screen = Screen::demo(&world, &[]);
        screen.wait_idle();
        screen.send("/call bash {\"command\": \"true\"}");
        screen.wait_for("── Run bash? ──");
        screen.keys(ESC);
        screen.wait_for("declined this call to `bash`");
        screen.wait_idle();
        screen.leave();
    }
}

#[test]
fn a_projects_files_cannot_change_what_is_asked() {
    let world = World::new();
    config(&world, &json!({"confirm": true}));
    let rules = json!([{"tool": "*", "do": "allow"}]);
    let theirs = json!({"confirm": false, "jail": false, "approvals": rules}).to_string();
    for file in [".zot/config.json", "config.json", ".zot/approvals.json"] {
        let file = world.work().join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("failed to create directory");
        fs::write(file, &theirs).expect("failed to write");
    }
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for(" · confirm");
    screen.send(&bash("true"));
    screen.wait_for("── Run bash? ──");
    screen.keys(ESC);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn questions_at_80x24_and_140x40() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let old: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
        let old = format!("{}\n", old.join("\n"));
        fs::write(world.work().join("notes.txt"), old).expect("failed to write");
        let args = ["--provider", "demo", "--no-yolo"];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_idle();
        let mut ask = |name: &str, call: &str| {
            screen.send(call);
            screen.wait_for("y  yes");
            scene(&format!("{name}_{suffix}"), &world, &screen);
            screen.keys("n");
            screen.wait_without("y  yes");
            screen.wait_idle();
        };
        ask("question", &bash("make test"));
        let edits = json!([
            {"old_text": "line 3\n", "new_text": "line three\n"},
            {"old_text": "line 33\n", "new_text": "line 33\nand a half\n"},
        ]);
        let edit = json!({"path": "notes.txt", "edits": edits});
        ask("question_edit", &format!("/call edit {edit}"));
        let edit = json!({"path": "notes.txt", "edits": [{"old_text": "nowhere", "new_text": ""}]});
        ask("question_failing_edit", &format!("/call edit {edit}"));
        let write = json!({"path": "new.txt", "content": "one\ntwo\n"});
        ask("question_write", &format!("/call write {write}"));
        screen.leave();
    }
}

#[test]
fn a_question_fits_a_small_screen() {
    let world = World::new();
    let args = ["--provider", "demo", "--no-yolo"];
    let mut screen = Screen::start(&world, (40, 9), &args);
    screen.wait_idle();
    screen.send(&bash("true a\ntrue b\ntrue c\ntrue d\ntrue e"));
    screen.wait_for("── Run bash? ──");
    screen.wait_for("› y  yes");
    screen.keys(END);
    screen.wait_for("true e");
    screen.keys(DOWN);
    screen.wait_for("› c  always allow this command");
    screen.keys("n");
    screen.wait_for("declined");
    screen.leave_by_force();
}
