//! Extension commands: every action, failures, and submitted prompts.

use super::{
    puppet,
    screen::{CTRL_C, ESC, Screen},
};
use crate::support::World;

fn start(world: &World) -> Screen {
    puppet::install(world);
    let screen = Screen::demo(world, &[]);
    screen.wait_for("ext 1/1");
    screen
}

#[test]
fn each_command_action_works() {
    let world = World::new();
    let mut screen = start(&world);
    screen.send("/ask hello");
    screen.wait_for("› asked by a command: hello");
    screen.wait_for("I am the demo model");
    screen.wait_idle();

    screen.send("/show more");
    screen.wait_for("◆ puppet");
    screen.wait_for("shown by a command");
    screen.wait_idle();

    screen.send("/nothing");
    screen.wait_idle();

    screen.send("/fail today");
    screen.wait_for("✗ [puppet] no such luck: today");
    screen.wait_idle();

    screen.send("/write");
    screen.wait_for("› written by a command");
    screen.keys(CTRL_C);
    screen.wait_idle();

    screen.send("/panel");
    screen.wait_for("── A panel ──");
    screen.wait_for("78 by 16");
    screen.keys(ESC);
    screen.wait_for("[puppet] the panel was closed");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn esc_cancels_a_command() {
    let world = World::new();
    let mut screen = start(&world);
    screen.send("/hang");
    screen.wait_for("/hang · ");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_idle();
    screen.send("/show again");
    screen.wait_for("shown by a command");
    screen.leave();
}

#[test]
fn an_unknown_command_is_reported_and_stays_in_the_editor() {
    let world = World::new();
    let mut screen = start(&world);
    screen.send("/shwo me");
    screen.wait_for("✗ unknown command /shwo");
    screen.wait_for("› /shwo me");
    screen.keys(CTRL_C);
    screen.wait_idle();
    // A path is not a command.
    screen.send("/etc/hosts is what?");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_crashed_extension_is_reported_and_zot_continues() {
    let world = World::new();
    let mut screen = start(&world);
    screen.send("/die");
    screen.wait_for("puppet");
    screen.wait_for("exit status 3");
    screen.wait_for("ext 0/1");
    screen.send("still there?");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn submitted_text_runs_as_a_prompt() {
    let world = World::new();
    let mut screen = start(&world);
    screen.send("/submit by myself");
    screen.wait_for("› by myself");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}
