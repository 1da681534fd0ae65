//! Going back to an earlier message, exporting a conversation, and resuming it.

use std::fs;

use serde_json::json;

use super::{
    puppet,
    scenes::scene,
    screen::{CTRL_C, CTRL_D, ENTER, Screen, UP},
};
use crate::support::{World, demo_script, text};

/// Sends a prompt and waits for the answer. An idle screen is not enough: while zot is starting, a
/// prompt waits in the queue.
fn ask(screen: &mut Screen, prompt: &str) {
    let answers = |screen: &Screen| screen.all().matches("I am the demo model").count();
    let before = answers(screen);
    screen.send(prompt);
    screen.wait_until("an answer", |_| answers(screen) > before);
    screen.wait_idle();
}

#[test]
fn rewind_goes_back_to_before_a_message() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_idle();
        screen.send("/rewind");
        screen.wait_for("– there is no message to go back to yet");
        for prompt in ["what is one?", "what is two?", "what is three?"] {
            ask(&mut screen, prompt);
        }
        screen.send("/rewind");
        screen.wait_for("── Go back to message ──");
        screen.wait_for("›  3  what is three?");
        scene(&format!("rewind_{suffix}"), &world, &screen);
        screen.keys(UP);
        screen.wait_for("›  2  what is two?");
        screen.keys(ENTER);
        screen.wait_for("rewound; files are unchanged · 2 messages");
        // The message returns to the editor.
        screen.wait_for("› what is two?");
        screen.keys(" Or a half?");
        screen.wait_for("› what is two? Or a half?");
        screen.keys(ENTER);
        screen.wait_for("I am the demo model");
        screen.wait_idle();
        screen.send("/export now.md");
        screen.wait_for("✓ exported to");
        let page = fs::read_to_string(world.work().join("now.md")).expect("failed to read");
        assert!(
            page.contains("one?") && page.contains("Or a half?"),
            "{page}"
        );
        assert!(!page.contains("three?"), "{page}");

        // Go back to the first message.
        screen.send("/rewind");
        screen.wait_for("── Go back to message ──");
        screen.keys("one");
        screen.wait_for("›  1  what is one?");
        screen.keys(ENTER);
        screen.wait_for("› what is one?");
        screen.wait_without("── Go back");
        screen.keys(CTRL_C);
        screen.wait_idle();
        screen.leave();
    }
}

#[test]
fn rewind_returns_the_outputs_of_commands_too() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("!echo from the shell");
    screen.wait_for("+ output of `echo from the shell`");
    ask(&mut screen, "what is this?");
    screen.send("/rewind");
    screen.wait_for("›  1  what is this?");
    screen.keys(ENTER);
    screen.wait_for("sent with your next message");
    screen.wait_for("› what is this?");
    screen.wait_for("+ output of `echo from the shell`");
    screen.leave_by_force();
}

/// A prompt that an extension submitted is literal. Going back to it does not turn it into a
/// command.
#[test]
fn a_submitted_prompt_does_not_run_after_a_rewind() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/submit !touch made");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.send("/rewind");
    screen.wait_for("›  1  !touch made");
    screen.keys(ENTER);
    screen.wait_for("── an extension may have written this");
    screen.keys(ENTER);
    screen.wait_for("! an extension may have written this command");
    screen.leave_by_force();
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_conversation_is_exported_as_a_page_that_escapes_everything() {
    let world = World::new();
    let evil = "<script>alert(1)</script><img src=x onerror='alert(2)'>";
    let call = json!({"name": "bash", "args": {"command": format!("echo \"{evil}\"")}});
    let script = demo_script(
        &world,
        &[
            json!({"text": evil, "tool_call": call}),
            json!({"text": "Done & done."}),
        ],
    );
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("say <b>hi</b>");
    screen.wait_for("Done & done.");
    screen.wait_idle();
    screen.send("/export");
    screen.keys("page.html");
    screen.wait_for("› /export page.html");
    screen.keys(ENTER);
    screen.wait_for("✓ exported to");
    // A file is never overwritten.
    screen.send("/export page.html");
    screen.wait_for("✗");
    screen.leave();
    let page = fs::read_to_string(world.work().join("page.html")).expect("failed to read");
    for seen in [
        "say &lt;b&gt;hi&lt;/b&gt;",
        "Done &amp; done.",
        "&lt;script&gt;alert(1)",
        "default-src 'none'",
        "<summary>Calls bash</summary>",
    ] {
        assert!(page.contains(seen), "no {seen}\n{page}");
    }
    for forbidden in ["<script", "<img", "<b>", "http:", "https:", "<link"] {
        assert!(!page.contains(forbidden), "{forbidden}\n{page}");
    }
}

#[test]
fn exit_says_how_to_resume_and_that_command_works() {
    let world = World::new();
    for leave in ["/exit", CTRL_D, CTRL_C] {
        let mut screen = Screen::demo(&world, &[]);
        screen.wait_idle();
        ask(&mut screen, &format!("remember {}", leave.escape_debug()));
        match leave {
            "/exit" => screen.send("/exit"),
            CTRL_D => screen.keys(CTRL_D),
            _ => {
                screen.keys(CTRL_C);
                screen.wait_for("press ctrl+c again to exit");
                screen.keys(CTRL_C);
            }
        }
        assert_eq!(screen.ended(), 0);
        screen.assert_restored();
        screen.wait_for("resume this session with: zot ");
        let shown = screen.text();
        let hint = shown
            .lines()
            .find(|line| line.starts_with("resume this session with: zot "));
        let hint = hint.unwrap_or_else(|| panic!("no hint\n{shown}"));
        let argument = hint.trim_end().rsplit(' ').next().expect("no argument");
        let mut screen = Screen::demo(&world, &[argument]);
        screen.wait_for("continued · 2 messages");
        screen.wait_for(&format!("› remember {}", leave.escape_debug()));
        screen.leave();
    }
}

#[test]
fn exit_names_the_file_or_the_directory_of_a_session_if_needed() {
    let world = World::new();
    let file = world.path("my session.jsonl");
    let mut screen = Screen::start(
        &world,
        (200, 24),
        &["--provider", "demo", "--session", text(&file)],
    );
    screen.wait_idle();
    ask(&mut screen, "hello");
    screen.leave();
    let hint = format!("resume this session with: zot --session '{}'", text(&file));
    screen.wait_for(&hint);

    let other = world.path("other");
    fs::create_dir(&other).expect("failed to create directory");
    let mut screen = Screen::start(
        &world,
        (200, 24),
        &["--provider", "demo", "--cwd", text(&other)],
    );
    screen.wait_idle();
    ask(&mut screen, "hello");
    screen.leave();
    screen.wait_for(&format!("zot --cwd {} --resume=", text(&other)));
}

#[test]
fn exit_does_not_offer_to_resume_an_unsaved_session() {
    let world = World::new();
    for (args, prompt) in [(&[][..], None), (&["--no-session"][..], Some("hello"))] {
        let mut screen = Screen::demo(&world, args);
        screen.wait_idle();
        if let Some(prompt) = prompt {
            ask(&mut screen, prompt);
        }
        screen.leave();
        screen.assert_never("resume this session");
    }
}
