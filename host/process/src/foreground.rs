//! A program that uses the terminal for a while, such as a text editor.

use std::io;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::Exit;
use crate::leader::Leader;
use crate::marker::TreeId;
use crate::registry;

/// Runs a program with this program's terminal and waits until it exits. Must be called on a tokio
/// runtime with I/O enabled.
///
/// Unlike a [`Process`](crate::Process), it stays in this program's process group, as a shell's
/// foreground job does, so that it can read from the terminal and ctrl+z suspends both programs. It
/// is not the root of a tree: processes that it leaves behind are not stopped with it. A
/// [`Subreaper`](crate::Subreaper) does not treat it as an orphan.
///
/// If the caller stops waiting, the program keeps running, as an orphan.
pub async fn run_in_foreground(mut command: Command) -> io::Result<Exit> {
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
