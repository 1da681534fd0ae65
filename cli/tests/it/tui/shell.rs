//! `!` runs a shell command, but only one that the user has typed or edited.

use std::{fs, thread, time::Duration};

use super::{
    puppet,
    scenes::scene,
    screen::{CTRL_C, CTRL_O, ENTER, ESC, Screen, UP},
};
use crate::support::{World, text};

/// Pastes text as a terminal does.
fn paste(screen: &mut Screen, text: &str) {
    screen.keys(&format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r")));
}

#[test]
fn a_command_runs_and_its_output_becomes_part_of_the_next_message() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        fs::write(world.work().join("notes.txt"), "buy tea\nwrite tests\n")
            .expect("failed to write");
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_idle();
        screen.keys("!cat notes.txt");
        screen.wait_for("── run in the shell ──");
        screen.keys(ENTER);
        screen.wait_for("✓ shell  cat notes.txt");
        screen.wait_for("│ write tests");
        screen.wait_for("+ output of `cat notes.txt`");
        screen.wait_for("sent with your next message");
        screen.wait_idle();
        scene(&format!("shell_output_{suffix}"), &world, &screen);
        screen.send("what is next?");
        screen.wait_for("I am the demo model");
        screen.wait_idle();
        let shown = screen.text();
        assert!(!shown.contains("sent with your next message"), "{shown}");
        assert_eq!(shown.matches("buy tea").count(), 1, "shown once\n{shown}");
        // The model has received the output exactly once.
        screen.send("/session export out.md");
        screen.wait_for("✓ exported to");
        screen.send("and again");
        screen.wait_idle();
        screen.leave();
        let page = fs::read_to_string(world.work().join("out.md")).expect("failed to read");
        let message = "what is next?\n\nI ran this command:\n\n```sh\ncat notes.txt\n```\n\nIts output:\n\n```\nbuy tea\nwrite tests\n```\n";
        assert!(page.contains(message), "{page}");

        // A resumed session still shows the output.
        let mut screen = Screen::start(&world, size, &["--provider", "demo", "--continue"]);
        screen.wait_for("+ output of `cat notes.txt`");
        screen.wait_idle();
        screen.leave();
        assert!(
            !screen.all().contains("I ran this command"),
            "{}",
            screen.all()
        );
    }
}

#[test]
fn a_failed_command_says_so_and_esc_drops_its_output() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("!echo oh no; exit 3");
    screen.wait_for("✗ shell exit status 3");
    screen.wait_for("+ output of");
    screen.keys(ESC);
    screen.wait_for("– the output will not be sent");
    screen.wait_without("+ output of");
    // The history of prompts includes commands.
    screen.keys(UP);
    screen.wait_for("› !echo oh no; exit 3");
    screen.leave_by_force();
}

#[test]
fn output_is_streamed_and_esc_or_ctrl_c_stops_the_command() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    for (stop, word) in [(ESC, "one"), (CTRL_C, "two")] {
        screen.send(&format!("!echo {word} line; sleep 1000"));
        screen.wait_for(&format!("│ {word} line"));
        screen.wait_for("running · ");
        screen.keys("typing goes on");
        screen.wait_for("› typing goes on");
        screen.keys("\x15");
        screen.wait_without("› typing goes on");
        screen.keys(stop);
        screen.wait_for(&format!("– shell cancelled  echo {word} line"));
        screen.wait_without("running · ");
    }
    screen.leave();
}

#[test]
fn the_jail_confines_the_users_commands_too() {
    let world = World::new();
    let outside = world.path("outside.txt");
    fs::write(&outside, "secret").expect("failed to write");
    let mut screen = Screen::demo(&world, &["--jail"]);
    screen.wait_for(" · jailed");
    screen.send("!cat ../outside.txt || echo could not read it");
    screen.wait_until("an end", |text| {
        text.contains("✓ shell") || text.contains("✗ shell")
    });
    screen.wait_idle();
    assert!(!screen.text().contains("secret"), "{}", screen.text());
    screen.leave();
}

/// Text that an extension writes into the editor, queues or submits never runs by itself.
#[test]
fn text_from_an_extension_runs_only_after_the_user_has_edited_it() {
    let world = World::new();
    puppet::install(&world);
    let made = |name: &str| world.work().join(name).exists();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");

    screen.send("/submit !touch submitted");
    screen.wait_for("I am the demo model");
    screen.wait_idle();

    screen.send("/ask !touch asked");
    screen.wait_for("› asked by a command: !touch asked");
    screen.wait_idle();

    screen.send("/write !touch inserted");
    screen.wait_for("› !touch inserted");
    screen.keys(ENTER);
    screen.wait_for("! an extension may have written this command");
    screen.wait_for("› !touch inserted");
    assert!(!made("inserted"));
    // Keys that follow the text or each other without a pause do not count as edits.
    let mut name = "inserted".to_owned();
    screen.wait_for("── an extension may have written this · edit it to run it ──");
    while !screen.text().contains("── run in the shell ──") {
        thread::sleep(Duration::from_millis(800));
        name.push('2');
        screen.keys("2");
        screen.wait_for(&name);
    }
    screen.keys(ENTER);
    screen.wait_for("✓ shell  touch inserted2");
    assert!(made(&name) && !made("inserted"));
    screen.wait_idle();

    // zot's own commands do not run either, even from the popup.
    for command in ["/unjail", "/yol"] {
        screen.send(&format!("/write {command}"));
        screen.wait_for(&format!("› {command}"));
        screen.keys(ENTER);
        screen.wait_until("refused", |text| {
            text.matches("an extension may have written this command")
                .count()
                >= 2
        });
        screen.keys(CTRL_C);
        screen.wait_idle();
        screen.keys("x");
        screen.wait_for("› x");
        screen.keys(CTRL_C);
        screen.wait_idle();
    }
    screen.leave();
    screen.assert_never("tools can access files outside");
    screen.assert_never("zot will ask");
    assert!(!made("submitted") && !made("asked"));
}

/// A queued prompt from an extension's command returns to the editor when the turn is cancelled.
#[test]
fn a_queued_prompt_that_returns_to_the_editor_does_not_run() {
    let world = World::new();
    puppet::install(&world);
    let program = r#"
import json, sys
def e(**frame): print(json.dumps(frame), flush=True)
e(type="hello", name="sly")
e(type="register_command", name="sly")
e(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        e(type="command_response", id=frame["id"], action="prompt", prompt="!touch sly")
    if frame["type"] == "shutdown":
        break
"#;
    puppet::write(
        &world.installed("sly"),
        &serde_json::json!({"name": "sly", "exec": "python3", "args": ["main.py"]}),
        "main.py",
        program,
    );
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 2/2");
    screen.send("/call wait {\"until\": \"/nowhere\"}");
    screen.wait_for("working · ");
    screen.send("/sly");
    screen.wait_for("  later: !touch sly");
    screen.keys(ESC);
    screen.wait_for("› !touch sly");
    screen.keys(ENTER);
    screen.wait_for("! an extension may have written this command");
    assert!(!world.work().join("sly").exists());
    screen.leave_by_force();
}

#[test]
fn a_paste_runs_only_as_the_user_sees_it() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    let made = |name: &str| world.work().join(name).exists();

    // A pasted line is visible, and runs on enter.
    paste(&mut screen, "!touch a");
    screen.wait_for("› !touch a");
    assert!(!made("a"), "a paste does not run by itself");
    screen.keys(ENTER);
    screen.wait_for("✓ shell");
    assert!(made("a"));
    screen.wait_idle();

    // Several lines are a prompt.
    paste(&mut screen, "!touch b\ntouch b2");
    screen.wait_for("  touch b2");
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    screen.wait_idle();

    // They still are if a folded paste returns from the history of an earlier session.
    paste(&mut screen, "!touch c\n1\n2\n3\n4\n5\n6");
    screen.wait_for("[pasted");
    screen.keys(ENTER);
    screen.wait_for("› !touch c");
    screen.wait_idle();
    screen.leave();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys(UP);
    screen.wait_for("› !touch c");
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    screen.wait_idle();

    // A command with a folded paste in it is refused.
    screen.keys("!touch d; ");
    paste(&mut screen, "true\n1\n2\n3\n4\n5\ntouch e");
    screen.wait_for("[pasted");
    screen.keys(ENTER);
    screen.wait_for("! a shell command cannot contain folded text");
    screen.keys(CTRL_C);
    screen.wait_idle();

    // An image in Markdown is not a command.
    screen.send("![a](b.png) what is this?");
    screen.wait_for("› ![a](b.png)");
    screen.wait_idle();
    screen.leave();
    for name in ["b", "b2", "c", "d", "e"] {
        assert!(!made(name), "{name}");
    }
}

#[test]
fn long_output_is_folded_and_control_sequences_are_removed() {
    let world = World::new();
    let mut screen = Screen::start(&world, (80, 60), &["--provider", "demo"]);
    screen.wait_idle();
    screen.send("!printf '\\033[2J\\033]0;TITLE\\007'; seq -f 'row %g' 60");
    screen.wait_for("│ row 40");
    screen.wait_for("… 20 lines · ctrl+o");
    screen.wait_idle();
    screen.keys(CTRL_O);
    screen.wait_for("│ row 60");
    screen.send("and?");
    screen.wait_for("I am the demo model");
    screen.leave();
    assert_eq!(screen.unexpected_sequences(), [""; 0]);
    screen.assert_never("\x1b[2J");
}

/// The user can run a shell command while the model is working.
#[test]
fn a_command_runs_during_a_turn() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    let go = world.path("go");
    screen.send(&format!("/call wait {{\"until\": \"{}\"}}", text(&go)));
    screen.wait_for("working · ");
    screen.send(&format!("!touch {}", text(&go)));
    screen.wait_for("✓ shell");
    screen.wait_for("│ the end");
    screen.wait_idle();
    screen.leave();
}
