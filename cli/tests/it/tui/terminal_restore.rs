//! The terminal is restored, however zot ends.

use std::fs;

use super::{
    puppet,
    screen::{CTRL_C, Screen},
};
use crate::support::{World, wait_until};

/// Returns the child processes of a process.
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

fn is_running(pid: i32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// Starts `zot` with a running tool call, and returns its child processes.
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
fn a_signal_restores_the_terminal_and_ends_extensions() {
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
            wait_until("the extension has ended", || !is_running(child));
        }
    }
}

#[test]
fn ctrl_c_twice_restores_the_terminal() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys(CTRL_C);
    screen.wait_for("press ctrl+c again to exit");
    screen.keys(CTRL_C);
    assert_eq!(screen.ended(), 0);
    screen.assert_restored();
    // The conversation stays visible, and the editor is gone.
    assert!(screen.text().contains("zot 0."), "{}", screen.text());
    assert!(!screen.text().contains("› ask"), "{}", screen.text());
}

#[test]
fn suspending_restores_the_terminal_and_fg_resumes() {
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
    // Wait for the prompt, because zot discards unread input when it exits.
    screen.wait_until("the shell's prompt", |text| text.trim_end().ends_with('$'));
    screen.keys("exit 7\r");
    assert_eq!(screen.ended(), 7);
}

#[test]
fn a_panic_restores_the_terminal() {
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
fn a_killed_extension_does_not_disturb_the_terminal() {
    let world = World::new();
    let (mut screen, children) = busy(&world);
    for child in children {
        // SAFETY: accesses no memory; the process was started by this `zot`.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    screen.wait_for("✗ wait failed");
    screen.wait_for("ext 0/1");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_failed_start_restores_the_terminal() {
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
fn closing_the_terminal_ends_zot_and_its_extensions() {
    let world = World::new();
    puppet::install(&world);
    let screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    let children = children_of(screen.pid());
    screen.hang_up();
    for extension in children {
        wait_until("the extension has ended", || !is_running(extension));
    }
}
