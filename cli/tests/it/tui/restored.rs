//! The terminal is as before, however it ends.

use std::fs;

use super::{
    puppet,
    screen::{CTRL_C, Screen},
};
use crate::support::{World, wait_until};

/// The processes that this one has started.
pub(crate) fn children_of(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("process has exited");
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|children| {
            let pids = children.split_whitespace().filter_map(|it| it.parse().ok());
            pids.collect::<Vec<i32>>()
        })
        .collect()
}

fn is_there(pid: i32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// `zot` in the middle of something, and its extension.
fn busy(world: &World) -> (Screen, Vec<i32>) {
    puppet::install(world);
    let mut screen = Screen::demo(world, &[]);
    screen.wait_for("ext 1/1");
    screen.send("/call wait {\"until\": \"/nowhere\"}");
    screen.wait_for("working · ");
    let children = children_of(screen.pid());
    assert!(!children.is_empty());
    (screen, children)
}

#[test]
fn after_a_signal_and_nothing_is_left_behind() {
    for (signal, code) in [
        (libc::SIGTERM, 143),
        (libc::SIGHUP, 129),
        (libc::SIGINT, 130),
    ] {
        let world = World::new();
        let (mut screen, children) = busy(&world);
        screen.signal(signal);
        assert_eq!(screen.ended(), code);
        screen.assert_restored();
        for child in children {
            wait_until("the extension has ended", || !is_there(child));
        }
    }
}

#[test]
fn after_leaving_twice_over() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys(CTRL_C);
    screen.wait_for("ctrl+c again leaves");
    screen.keys(CTRL_C);
    assert_eq!(screen.ended(), 0);
    screen.assert_restored();
    // What was said stays, and the editor is gone.
    assert!(screen.text().contains("zot 0."), "{}", screen.text());
    assert!(!screen.text().contains("› ask"), "{}", screen.text());
}

#[test]
fn after_a_while_in_the_shell() {
    let world = World::new();
    let mut screen = Screen::under_a_shell(&world, &["--provider", "demo"]);
    screen.wait_idle();
    screen.keys("half a sen");
    screen.wait_for("› half a sen");
    screen.keys("\x1a");
    screen.wait_for("Stopped");
    screen.assert_restored();
    screen.keys("echo in the sh''ell\r");
    screen.wait_for("in the shell");
    screen.keys("fg\r");
    screen.wait_for("› half a sen");
    screen.keys("tence");
    screen.keys("\r");
    screen.wait_for("› half a sentence");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.keys("\x04");
    screen.wait_without("› ask");
    screen.keys("exit 7\r");
    assert_eq!(screen.ended(), 7);
}

#[test]
fn after_a_panic() {
    let world = World::new();
    let variables = [("ZOT_TEST_PANIC", "1")];
    let mut screen = Screen::with(&world, (80, 24), &["--provider", "demo"], &variables);
    screen.wait_idle();
    screen.keys("now");
    assert_ne!(screen.ended(), 0);
    screen.assert_restored();
    assert!(screen.text().contains("panicked at"), "{}", screen.text());
}

#[test]
fn after_an_extension_was_killed() {
    let world = World::new();
    let (mut screen, children) = busy(&world);
    for child in children {
        // SAFETY: no memory is involved; the process is one that this `zot` has started.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    screen.wait_for("✗ wait failed");
    screen.wait_for("ext 0/1");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn after_an_agent_that_cannot_start() {
    let world = World::new();
    let session = world.path("no/such/dir");
    fs::write(world.path("no"), "a file").expect("failed to write");
    let session = session.to_str().expect("not valid UTF-8");
    let mut screen = Screen::demo(&world, &["--session", session]);
    let code = screen.ended();
    screen.assert_restored();
    assert!(
        code == 1 && screen.text().contains("error: ") || code == 0,
        "{code}\n{}",
        screen.text()
    );
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let world = World::new();
    puppet::install(&world);
    let screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    let children = children_of(screen.pid());
    screen.hang_up();
    for extension in children {
        wait_until("the extension has ended", || !is_there(extension));
    }
}
