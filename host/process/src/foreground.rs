//! A program that uses the terminal for a while, such as a text editor.

use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::Exit;
use crate::leader::Leader;
#[cfg(target_os = "linux")]
use crate::limit;
use crate::marker::{self, TreeId};
use crate::registry;

/// Runs a program with this program's terminal and waits until it exits. Must be called on a tokio
/// runtime with I/O enabled.
///
/// Unlike a [`Process`](crate::Process), it stays in this program's process group, as a shell's
/// foreground job does, so that it can read from the terminal and ctrl+z suspends both programs. It
/// is not the root of a tree: what it leaves running, such as the server of an editor, belongs to
/// the user and is never stopped. It has a mark of its own, so that a
/// [`Subreaper`](crate::Subreaper) does not treat it as an orphan.
///
/// If the caller stops waiting, the program keeps running, as an orphan.
pub async fn run_in_foreground(mut command: Command) -> io::Result<Exit> {
    mark(&mut command);
    let start = || {
        let child = command.spawn()?;
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("invalid process id"))?;
        Leader::hold(id).inspect_err(|_| {
            // The caller could not wait for the program, so kill it.
            let killed = kill_process(id, Signal::KILL);
            let _ = killed.and_then(|()| waitpid(Some(id), WaitOptions::empty()));
        })
    };
    // While the program is registered, the subreaper does not reap it, so it can be reaped below.
    let (_live, mut leader) =
        registry::start(TreeId::next(), start, |leader| leader.group().clone())?;
    leader.ended().await;
    Ok(leader.reap().await)
}

/// Gives the program and all its descendants the mark of programs in the foreground.
fn mark(command: &mut Command) {
    command.env(marker::VARIABLE, TreeId::FOREGROUND.value());
    #[cfg(target_os = "linux")]
    if let Some(limit) = limit::of(TreeId::FOREGROUND) {
        let set = move || {
            limit::set(limit);
            Ok(())
        };
        // SAFETY: the closure runs between fork and exec, and only makes a system call and writes
        // an atomic.
        unsafe { command.pre_exec(set) };
    }
}
