//! Project extensions need the user's consent.

use std::fs;

use serde_json::json;

use super::{
    puppet,
    screen::{ESC, Screen},
};
use crate::support::World;

fn with_project(world: &World) {
    puppet::write(
        &world.work().join(".zot/extensions/puppet"),
        &json!({
            "name": "puppet", "exec": "python3", "args": ["puppet.py"], "description": "does as it is told"
        }),
        "puppet.py",
        include_str!("puppet.py"),
    );
}

#[test]
fn consent_is_asked_once_and_again_after_a_change() {
    let world = World::new();
    with_project(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("── Start the extension puppet? ──");
    screen.wait_for("does as it is told");
    screen.wait_for("python3 puppet.py");
    screen.wait_for("it declares no permissions");
    assert!(!screen.ever("ext 1/1"));
    screen.wait_for("y  yes, always start it");
    screen.keys("y");
    screen.wait_for("ext 1/1");
    screen.leave();

    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    assert!(!screen.ever("Start the extension"));
    screen.leave();

    let file = world.work().join(".zot/extensions/puppet/puppet.py");
    let text = fs::read_to_string(&file).expect("failed to read");
    fs::write(&file, text + "\n# changed\n").expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("── Start the extension puppet? ──");
    screen.wait_for("changed since you were last asked");
    screen.wait_for("n  no, do not start it");
    screen.keys("n");
    screen.wait_idle();
    assert!(!screen.text().contains("ext 1"), "{}", screen.text());
    screen.leave();

    // Declining is remembered too.
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("hello");
    screen.wait_for("I am the demo model");
    assert!(!screen.ever("Start the extension"));
    screen.leave();
}

#[test]
fn esc_dismisses_the_question_and_a_reload_asks_again() {
    let world = World::new();
    with_project(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("── Start the extension puppet? ──");
    screen.keys(ESC);
    screen.wait_idle();
    screen.send("/reload-ext");
    screen.wait_for("── Start the extension puppet? ──");
    screen.wait_for("y  yes, always start it");
    screen.keys("y");
    screen.wait_for("✓ extensions: 0 stopped, 1 started, 1 ready");
    screen.wait_for("ext 1/1");
    screen.leave();
}

#[test]
fn keys_typed_ahead_do_not_grant_consent() {
    let world = World::new();
    with_project(&world);
    let mut screen = Screen::demo(&world, &[]);
    // These keys are typed before the question appears, so they must not answer it.
    screen.keys("y");
    screen.keys("\r");
    screen.wait_for("── Start the extension puppet? ──");
    screen.wait_for("y  yes, always start it");
    screen.keys(ESC);
    screen.wait_until("no extension", |text| {
        text.contains("demo · ") && !text.contains("Start the extension")
    });
    assert!(!screen.ever("ext 1/1"));
    screen.leave_by_force();
}
