//! ctrl+g opens the draft in the user's editor.

use std::{fs, path::PathBuf, thread, time::Duration};

use serde_json::json;

use super::{
    puppet,
    screen::{CTRL_C, ENTER, Screen},
};
use crate::support::{World, demo_script, text, wait_until};

const CTRL_G: &str = "\x07";

/// Writes a script to use as an editor. `$1` is the file.
fn editor(world: &World, script: &str) -> PathBuf {
    let path = world.path("editor");
    fs::write(&path, script).expect("failed to write");
    path
}

fn start(world: &World, script: &str, variable: &str) -> Screen {
    let editor = format!("sh {}", text(&editor(world, script)));
    let variables = [("EDITOR", "false"), (variable, editor.as_str())];
    let screen = Screen::with(world, (80, 24), &["--provider", "demo"], &variables);
    screen.wait_idle();
    screen
}

#[test]
fn the_draft_is_edited_in_a_private_file_with_the_whole_terminal() {
    let world = World::new();
    let script = r#"
stat -c '%a' "$1" "$(dirname "$1")" > modes
cp "$1" seen
echo "$1" > path
stty -a | grep -o -e '-*icanon' -e '-*echo ' > terminal
echo an editor is here
read -r line
printf 'first line\n%s\n' "$line" > "$1"
"#;
    let mut screen = start(&world, script, "VISUAL");
    screen.keys("a draft");
    screen.wait_for("› a draft");
    screen.keys(CTRL_G);
    screen.wait_for("an editor is here");
    screen.assert_restored();
    // The editor receives the keys, and zot does not.
    screen.keys("typed in the editor\r");
    screen.wait_for("› first line");
    screen.wait_for("  typed in the editor");
    let work = |name: &str| fs::read_to_string(world.work().join(name)).expect("failed to read");
    assert_eq!(work("modes"), "600\n700\n");
    assert_eq!(work("seen"), "a draft");
    assert_eq!(work("terminal"), "icanon\necho \n");
    assert!(
        fs::metadata(work("path").trim()).is_err(),
        "the file is left behind"
    );
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_failing_editor_leaves_the_draft_unchanged() {
    let world = World::new();
    // The editor also leaves the terminal in a different mode.
    let script = "echo replaced > \"$1\"; echo an editor is here; read -r line; stty -echo; exit 3";
    let mut screen = start(&world, script, "EDITOR");
    screen.keys("a draft");
    screen.wait_for("› a draft");
    screen.keys(CTRL_G);
    screen.wait_for("an editor is here");
    // zot ignores the signal, because ctrl+c is meant for the editor.
    screen.signal(libc::SIGINT);
    screen.keys("\r");
    screen.wait_for("✗ the draft is unchanged");
    screen.wait_for("exit status 3");
    screen.wait_for("› a draft");
    screen.assert_never("replaced");
    screen.leave_by_force();

    let variables = [("VISUAL", "/no/such/editor")];
    let mut screen = Screen::with(&world, (80, 24), &["--provider", "demo"], &variables);
    screen.wait_idle();
    screen.keys(CTRL_G);
    screen.wait_for("✗ the draft is unchanged: `/no/such/editor`: exit status 127");
    screen.wait_idle();
    screen.leave();
}

/// Closing the editor without a change does not count as an edit, so the command still does not
/// run.
#[test]
fn looking_at_inserted_text_does_not_make_it_the_users() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = start(&world, "true", "EDITOR");
    screen.wait_for("ext 1/1");
    screen.send("/write !touch made");
    screen.wait_for("› !touch made");
    let before = screen.written();
    screen.keys(CTRL_G);
    // zot shows its cursor for the editor, and hides it afterwards.
    screen.wait_until("the editor has exited", |_| {
        screen.has_written("\x1b[?25h", before) && screen.has_written("\x1b[?25l", before)
    });
    screen.wait_for("› !touch made");
    screen.keys(ENTER);
    screen.wait_for("! an extension may have written this command");
    screen.keys(CTRL_C);
    screen.wait_idle();
    screen.leave();
    assert!(!world.work().join("made").exists());
}

/// A question that arrives while the editor is open becomes visible when the editor exits.
#[test]
fn a_question_that_arrives_behind_the_editor_is_not_answered_as_it_appears() {
    let world = World::new();
    let bash = |command: &str| json!({"tool_call": {"name": "bash", "args": {"command": command}}});
    let turns = [
        bash("until [ -e open ]; do sleep 0.02; done"),
        bash("touch made"),
        json!({"text": "The answer."}),
    ];
    let demo = demo_script(&world, &turns);
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    let rules = json!([{"tool": "bash", "command": "touch made", "do": "ask"}]);
    let config = json!({"approvals": rules}).to_string();
    fs::write(world.path("zot/config.json"), config).expect("failed to write");
    let script = "touch open; echo an editor is here; until [ -e close ]; do sleep 0.02; done";
    let editor = format!("sh {}", text(&editor(&world, script)));
    let args = [
        "--provider",
        "demo",
        "--script",
        &demo,
        "--session",
        "s.jsonl",
    ];
    let mut screen = Screen::with(&world, (80, 24), &args, &[("VISUAL", editor.as_str())]);
    screen.wait_idle();
    screen.send("begin");
    screen.wait_for("working · ");
    screen.keys(CTRL_G);
    screen.wait_for("an editor is here");
    let session = world.work().join("s.jsonl");
    wait_until("the model calls the tool", || {
        fs::read_to_string(&session).is_ok_and(|text| text.contains("touch made"))
    });
    // Longer than a question must be visible before it can be answered.
    thread::sleep(Duration::from_secs(1));
    fs::write(world.work().join("close"), "").expect("failed to write");
    screen.wait_for("── Run bash? ──");
    screen.keys(ENTER);
    screen.wait_for("y  yes");
    assert!(!world.work().join("made").exists());
    screen.keys("n");
    screen.wait_for("The answer.");
    screen.wait_idle();
    assert!(!world.work().join("made").exists());
    screen.leave();
}

#[test]
fn the_agent_works_while_the_editor_is_open() {
    let world = World::new();
    puppet::install(&world);
    let go = world.path("go");
    let done = world.work().join("done");
    let script = format!(
        "echo an editor is here; touch {}; until [ -e {} ]; do sleep 0.01; done",
        text(&go),
        text(&done)
    );
    let mut screen = start(&world, &script, "EDITOR");
    screen.wait_for("ext 1/1");
    screen.send(&format!(
        "/call wait {{\"until\": \"{}\"}}\n/call bash {{\"command\": \"touch done\"}}",
        text(&go)
    ));
    screen.wait_for("working · ");
    screen.keys(CTRL_G);
    // The second call lets the editor exit.
    screen.wait_for("✓ bash  touch done");
    screen.wait_idle();
    screen.leave();
}
