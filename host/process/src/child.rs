//! What happens in the child between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, getpid};

/// Gives the command a process group of its own and the steps that its child takes before it executes the program.
///
/// The standard library already empties the signal mask there, and sets SIGPIPE, which Rust programs ignore, back to
/// its default.
pub(crate) fn prepare(command: &mut Command) {
    command.process_group(0);
    let parent = getpid();
    // SAFETY: the closure runs in a fork of a program with many threads, where another thread may have held any lock,
    // the allocator's included. `before_exec` makes system calls on values that were computed before the fork: it
    // takes no lock, allocates nothing and cannot panic.
    unsafe {
        command.pre_exec(move || before_exec(parent));
    }
}

/// Runs in the child, last before exec. Its error becomes the error of the spawn.
///
/// This is the one place for what confines a process (Landlock, seccomp): rules are built in the parent, captured by
/// the closure above, and applied here by system calls alone, after the steps below.
#[cfg_attr(
    not(target_os = "linux"),
    expect(clippy::unnecessary_wraps, reason = "nothing can fail there yet")
)]
fn before_exec(parent: Pid) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    die_with(parent)?;
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Ok(())
}

/// Has the kernel kill this process when the thread that forked it ends.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the call above, and then no signal will come.
    if getppid() != Some(parent) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    Ok(())
}
