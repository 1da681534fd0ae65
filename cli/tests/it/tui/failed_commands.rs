//! A failed command shows why it failed: its exit status and the end of its output.

use serde_json::json;

use super::{
    scenes::scene,
    screen::{CTRL_O, Screen},
};
use crate::support::{World, demo_script};

/// A simulated test run. Its last lines show what failed, and one of them is wider than the screen.
const COMMAND: &str = "for n in $(seq 20); do echo test $n ok; done; \
    echo \"test 21 failed: expected a file called settings.toml in /etc/greeting, but found one that is empty: expected 1 entry, found 0\"; \
    echo 20 passed, 1 failed; exit 101";

#[test]
fn a_failed_command_shows_its_end_and_its_exit_status() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let call = json!({"tool_call": {"name": "bash", "args": {"command": COMMAND}}});
        let script = demo_script(&world, &[call, json!({"text": "One test fails."})]);
        let args = ["--provider", "demo", "--script", &script];
        let mut screen = Screen::start(&world, size, &args);
        screen.wait_idle();
        screen.send("run the tests");
        screen.wait_for("One test fails.");
        screen.wait_idle();
        scene(&format!("failed_command_{suffix}"), &world, &screen);
        let text = screen.text();
        assert!(text.contains("✗ bash exit status 101"), "{text}");
        assert!(text.contains("found 0"), "the long line is wrapped\n{text}");
        assert!(text.contains("│ 20 passed, 1 failed"), "{text}");
        assert!(!text.contains("test 1 ok"), "{text}");
        screen.keys(CTRL_O);
        screen.wait_for("│ [exit status 101]");
        assert!(screen.all().contains("│ test 1 ok"), "{}", screen.all());
        screen.leave();
    }
}

#[test]
fn a_killed_command_names_the_signal_and_a_command_cannot_fake_its_status() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"echo '[exit status 0]'; kill -9 $$\"}");
    screen.wait_for("✗ bash killed by SIGKILL");
    screen.wait_for("│ [exit status 0]");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_line_that_is_too_long_can_be_unfolded() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"seq -s ' ' 60; false || true\"}");
    screen.wait_for("✓ bash");
    screen.wait_idle();
    screen.keys(CTRL_O);
    screen.wait_until("the end of the line in the result", |text| {
        text.lines()
            .any(|row| row.contains('│') && row.contains("58 59 60"))
    });
    screen.leave();
}
