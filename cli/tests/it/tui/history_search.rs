//! ctrl+r searches the prompt history.

use super::{
    scenes::scene,
    screen::{CTRL_C, CTRL_R, ENTER, ESC, Screen},
};
use crate::support::World;

#[test]
fn ctrl_r_searches_the_history_newest_first() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_idle();
        screen.keys(CTRL_R);
        screen.wait_for("– the prompt history is empty");
        for prompt in [
            "fix the first bug",
            "write a test",
            "fix the second bug",
            "write a test",
        ] {
            let answers = |screen: &Screen| screen.all().matches("I am the demo model").count();
            let before = answers(&screen);
            screen.send(prompt);
            screen.wait_until("an answer", |_| answers(&screen) > before);
            screen.wait_idle();
        }
        screen.keys("a draft");
        screen.wait_for("› a draft");
        screen.keys(CTRL_R);
        screen.wait_for("── History ──");
        screen.wait_for("› write a test");
        screen.keys("fix");
        screen.wait_for("── History: fix ──");
        screen.wait_for("› fix the second bug");
        scene(&format!("history_{suffix}"), &world, &screen);
        // Esc keeps the draft.
        screen.keys(ESC);
        screen.wait_for("› a draft");
        screen.keys(CTRL_R);
        screen.wait_for("── History ──");
        screen.keys("fix");
        screen.wait_for("› fix the second bug");
        // Pressing ctrl+r again selects the next match.
        screen.keys(CTRL_R);
        screen.wait_for("› fix the first bug");
        screen.keys(ENTER);
        screen.wait_without("── History");
        screen.wait_for("› fix the first bug");
        screen.keys(" again");
        screen.wait_for("› fix the first bug again");
        screen.keys(CTRL_C);
        screen.wait_idle();
        screen.leave();
    }
}
