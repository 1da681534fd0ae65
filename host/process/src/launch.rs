//! Starts a process, up to the execution of its program.

use std::process::{ChildStderr, ChildStdin, ChildStdout};

use rustix::process::Pid;

#[cfg(not(target_os = "linux"))]
mod fork;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod vfork;

#[cfg(not(target_os = "linux"))]
pub(crate) use fork::launch;
#[cfg(target_os = "linux")]
pub(crate) use vfork::launch;

/// A process that is executing its program. The caller must reap it.
pub(crate) struct Launched {
    pub(crate) pid: Pid,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}
