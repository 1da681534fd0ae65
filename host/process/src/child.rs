//! What happens in the child between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, getpid};

use crate::confine::Jail;
#[cfg(target_os = "linux")]
use crate::error::Unconfined;

/// Gives the command a process group of its own and the steps that its child takes before it executes the program.
///
/// The standard library already empties the signal mask there, and sets SIGPIPE, which Rust programs ignore, back to
/// its default.
pub(crate) fn prepare(command: &mut Command, jail: Option<Jail>) {
    command.process_group(0);
    let parent = getpid();
    // SAFETY: the closure runs in a fork of a program with many threads, where another thread may have held any lock,
    // the allocator's included. `before_exec` makes system calls on values that were computed before the fork: it
    // takes no lock, allocates nothing and cannot panic.
    unsafe {
        command.pre_exec(move || before_exec(parent, jail.as_ref()));
    }
}

/// Runs in the child, last before exec. Its error becomes the error of the spawn.
#[cfg(target_os = "linux")]
fn before_exec(parent: Pid, jail: Option<&Jail>) -> io::Result<()> {
    die_with(parent)?;
    // Last: it may leave nothing else to be done.
    jail.map_or(Ok(()), Jail::enter).map_err(Unconfined::tell)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux, where it can fail")]
fn before_exec(_: Pid, _: Option<&Jail>) -> io::Result<()> {
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
