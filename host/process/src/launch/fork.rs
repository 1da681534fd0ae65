//! Starts a process with the standard library.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::Launched;
use crate::Spec;
use crate::confine::Jail;
use crate::marker::TreeId;

/// Starts a process in its own process group, with three pipes, an empty signal mask, SIGPIPE reset
/// to its default action, and the mark of its tree.
pub(crate) fn launch(spec: &Spec, tree: TreeId, _: Option<&Jail>) -> io::Result<Launched> {
    // `Command` would search `PATH` for a bare name, and resolve a relative path in the child's
    // directory.
    let mut command = Command::new(std::path::absolute(spec.program())?);
    command
        .args(spec.arguments())
        .env_clear()
        .envs(spec.environment(tree))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = spec.working_directory() {
        command.current_dir(cwd);
    }
    let mut child = command.spawn()?;
    Ok(Launched {
        pid: Pid::from_child(&child),
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
    })
}
