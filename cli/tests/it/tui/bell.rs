//! The bell at the end of a long turn.

use std::fs;

use super::screen::Screen;
use crate::support::World;

const FOCUS_LOST: &str = "\x1b[O";
const FOCUS_GAINED: &str = "\x1b[I";

fn start(config: &str, focus: &str) -> (World, Screen) {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("zot/config.json"), config).expect("failed to write");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys(focus);
    (world, screen)
}

fn bells(screen: &Screen) -> usize {
    let sequences = screen.unexpected_sequences();
    assert!(sequences.iter().all(|it| it == "a bell"), "{sequences:?}");
    sequences.len()
}

/// The turns run at the same time, because each takes more than ten seconds.
#[test]
fn a_long_turn_rings_the_bell_unless_the_user_is_looking() {
    let mut all = [
        (start("{}", FOCUS_LOST), 1),
        (start("{}", ""), 1),
        (start("{}", FOCUS_GAINED), 0),
        (start("{\"notify\": \"off\"}", FOCUS_LOST), 0),
    ];
    for ((_, screen), _) in &mut all {
        // A short turn never rings.
        screen.send("hello");
        screen.wait_for("I am the demo model");
        screen.wait_idle();
        assert_eq!(bells(screen), 0);
        screen.send("/call bash {\"command\": \"sleep 10; echo rested\"}");
        screen.wait_for("working · ");
    }
    for ((_, screen), rings) in &mut all {
        screen.wait_for("│ rested");
        screen.wait_idle();
        screen.leave();
        assert_eq!(bells(screen), *rings);
        assert!(screen.has_written("\x1b[?1004h", 0));
    }
}
