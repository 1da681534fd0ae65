//! Messages sent while the agent works, and commands that run in the background.

use std::fs;

use serde_json::json;

use super::{
    scenes::scene,
    screen::{ENTER, ESC, Screen},
};
use crate::support::{World, demo_script, process, wait_until};

/// Writes a script in which the model runs a command until the file `go` exists, then answers
/// twice.
fn waiting(world: &World) -> String {
    demo_script(
        world,
        &[
            json!({"tool_call": {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.02; done; echo ready"}}}),
            json!({"text": "The first answer."}),
            json!({"text": "The second answer."}),
        ],
    )
}

#[test]
fn enter_sends_a_message_before_the_next_step_and_tab_queues_it() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let script = waiting(&world);
        let args = ["--provider", "demo", "--script", &script];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_idle();
        screen.send("begin");
        screen.wait_for("working · ");
        screen.send("use the other branch");
        screen.wait_for("↳ next: use the other branch");
        screen.keys("and then rest\t");
        screen.wait_for("  later: and then rest");
        scene(&format!("steering_{suffix}"), &world, &screen);
        fs::write(world.work().join("go"), "").expect("failed to write");
        screen.wait_for("The second answer.");
        screen.wait_idle();
        let all = screen.all();
        let at = |word: &str| {
            all.rfind(word)
                .unwrap_or_else(|| panic!("no {word}\n{all}"))
        };
        let order = [
            at("› begin"),
            at("│ ready"),
            at("› use the other branch"),
            at("The first answer."),
            at("› and then rest"),
            at("The second answer."),
        ];
        assert!(order.is_sorted(), "{all}");
        assert!(!all.contains("↳ next"), "{all}");
        screen.leave();
    }
}

#[test]
fn a_message_during_the_last_answer_continues_the_turn() {
    let world = World::new();
    let script = demo_script(
        &world,
        &[
            json!([{"text": "The first"}, {"delay_ms": 1500}, {"text": " answer."}]),
            json!({"text": "The second answer."}),
        ],
    );
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("begin");
    screen.wait_for("The first");
    screen.send("more");
    screen.wait_for("The second answer.");
    screen.wait_idle();
    let all = screen.all();
    assert!(all.find("The first answer.") < all.find("› more"), "{all}");
    screen.leave();
}

#[test]
fn esc_returns_messages_that_have_not_been_delivered_to_the_editor() {
    let world = World::new();
    let script = waiting(&world);
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("begin");
    screen.wait_for("working · ");
    screen.send("first this");
    screen.keys("later that\t");
    screen.wait_for("  later: later that");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_for("› first this");
    screen.wait_for("  later that");
    screen.keys("\x03");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn background_commands_are_listed_and_stopped_with_tasks_and_end_with_zot() {
    tasks((80, 24), "80x24");
    tasks((140, 40), "140x40");
}

fn tasks(size: (u16, u16), suffix: &str) {
    let world = World::new();
    let start = |command: &str| {
        let args = json!({"command": command, "run_in_background": true});
        json!({"tool_call": {"name": "bash", "args": args}})
    };
    let script = demo_script(
        &world,
        &[
            start("echo one; sleep 1001"),
            start("sleep 1002"),
            json!({"text": "Both are running."}),
        ],
    );
    let args = ["--provider", "demo", "--script", &script];
    let mut screen = Screen::start(&world, size, &args);
    screen.wait_idle();
    screen.send("/tasks");
    screen.wait_for("no background commands");
    screen.send("go");
    screen.wait_for("Both are running.");
    screen.wait_idle();
    screen.send("/tasks");
    screen.wait_for("sleep 1002");
    screen.wait_for("bg-2 · running for");
    screen.wait_for("enter stop");
    scene(&format!("tasks_{suffix}"), &world, &screen);
    screen.keys(ENTER);
    screen.wait_for("✓ stopped bg-2");
    screen.send("/tasks");
    screen.wait_for("bg-2 · killed after");
    screen.wait_for("bg-1 · running for");
    screen.keys(ESC);
    screen.wait_idle();
    screen.leave();
    wait_until("no process is left", || {
        process::working_in(&world.work()).is_empty()
    });
}

#[test]
fn a_resumed_session_shows_how_calls_and_turns_ended() {
    resumed((80, 24), "80x24");
    resumed((140, 40), "140x40");
}

fn resumed(size: (u16, u16), suffix: &str) {
    let world = World::new();
    let script = demo_script(
        &world,
        &[
            json!({"tool_call": {"name": "bash", "args": {"command": "echo some; sleep 1003"}}}),
            json!({"text": "Half an answer", "error": "overloaded"}),
            json!({"text": "Too long", "stop": "length"}),
        ],
    );
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("one");
    screen.wait_for("│ some");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_idle();
    screen.send("two");
    screen.wait_for("overloaded");
    screen.wait_idle();
    screen.send("three");
    screen.wait_for("Too long");
    screen.wait_for("cut off at the model's output limit");
    screen.wait_idle();
    screen.leave();

    let args = ["--provider", "demo", "--continue"];
    let mut screen = Screen::start(&world, size, &args);
    screen.wait_for("cut off at the model's output limit");
    screen.wait_idle();
    let all = screen.all();
    for shown in [
        "– bash cancelled  echo some; sleep 1003",
        "– cancelled",
        "Half an answer",
        "overloaded",
    ] {
        assert!(all.contains(shown), "{shown}\n{all}");
    }
    scene(&format!("resumed_{suffix}"), &world, &screen);
    screen.leave();
}
