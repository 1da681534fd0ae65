//! Extension panels.

use super::{
    puppet,
    screen::{DOWN, ENTER, ESC, Screen},
};
use crate::support::World;

#[test]
fn the_todo_panel_responds_to_keys() {
    let world = World::new();
    puppet::install_example(&world, "todo");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/todo");
    screen.wait_for("── To do ──");
    // The keys are typed faster than the panel redraws, and must all arrive in order.
    screen.keys("abuy milk and the quick brown fox jumps over the lazy dog");
    screen.keys(ENTER);
    screen.wait_for("[ ] buy milk and the quick brown fox jumps over the lazy dog");
    screen.keys("asecond");
    screen.keys(ENTER);
    screen.wait_for("› [ ] second");
    screen.keys(ENTER);
    screen.wait_for("[x] second");
    screen.keys(ESC);
    screen.wait_without("── To do ──");
    screen.wait_idle();
    // The list is kept after the panel closes.
    screen.send("/todo");
    screen.wait_for("[x] second");
    screen.keys(DOWN);
    screen.keys(ESC);
    screen.wait_without("── To do ──");
    screen.leave();
}

#[test]
fn a_panel_receives_keys_and_resizes() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/panel");
    screen.wait_for("78 by 16");
    screen.keys("q");
    screen.wait_for("key rune q");
    screen.keys("\x1b[5~");
    screen.wait_for("key pageup");
    screen.keys("\x1b[200~two words\x1b[201~");
    screen.wait_for("key rune two words");
    screen.resize(60, 20);
    screen.wait_for("58 by 13");
    screen.keys("\x03");
    screen.wait_for("the panel was closed");
    screen.leave();
}

#[test]
fn a_panel_closes_when_its_extension_dies() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/panel");
    screen.wait_for("── A panel ──");
    for pid in crate::tui::terminal_restore::children_of(screen.pid()) {
        // SAFETY: accesses no memory; the process was started by this `zot`.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    screen.wait_without("── A panel ──");
    screen.wait_for("ext 0/1");
    screen.leave();
}
