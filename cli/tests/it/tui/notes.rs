//! Extension notifications, and when they disappear.

use super::{
    puppet,
    screen::{ESC, Screen},
};
use crate::support::World;

#[test]
fn notes_disappear_with_the_next_prompt_esc_and_clear() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");

    screen.send("/note success it worked");
    screen.wait_for("✓ [puppet] it worked");
    screen.send("/note error it broke");
    screen.wait_for("✗ [puppet] it broke");
    screen.wait_for("[puppet] it worked");
    screen.send("a prompt");
    screen.wait_for("I am the demo model");
    screen.wait_without("[puppet]");

    screen.send("/note warn careful");
    screen.wait_for("! [puppet] careful");
    screen.keys(ESC);
    screen.wait_without("careful");

    screen.send("/note info by the way");
    screen.wait_for("· [puppet] by the way");
    screen.send("/clear");
    screen.wait_without("by the way");
    screen.wait_for("new conversation");

    screen.send("/note info taken back");
    screen.wait_for("taken back");
    screen.send("/unnote");
    screen.wait_without("taken back");
    screen.leave();
    // No notification ends up in the scrollback.
    assert!(!screen.all().contains("[puppet]"), "{}", screen.all());
}

#[test]
fn only_the_last_notes_are_shown_and_the_rest_are_counted() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::start(&world, (80, 60), &["--provider", "demo"]);
    screen.wait_for("ext 1/1");
    screen.send("/notes 1000");
    screen.wait_for("[puppet] note 999");
    screen.wait_for("980 earlier");
    screen.wait_for("[puppet] note 980");
    assert!(!screen.text().contains("note 979"));
    screen.leave();
}

#[test]
fn a_note_says_how_to_restart_an_extension_that_exited() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/die");
    screen.wait_for("✗ [puppet] ended: exit status 3");
    screen.wait_for("[puppet] run /reload-ext to restart it");
    screen.send("/reload-ext");
    screen.wait_for("1 ready");
    screen.leave();
}
