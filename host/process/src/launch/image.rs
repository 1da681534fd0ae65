//! What a child executes. The parent prepares everything, and the child only makes system calls.

use std::convert::Infallible;
use std::ffi::{CStr, CString, OsString, c_char};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::{io, ptr};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Rlimit, Signal, chdir, getpid, getppid, set_parent_process_death_signal, setpgid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::signals;
use crate::Spec;
use crate::confine::Jail;
use crate::error::Unconfined;
use crate::limit;
use crate::marker::TreeId;

/// The shell that runs a file without an interpreter line, which the kernel cannot execute
/// (ENOEXEC). `execvp` does the same.
const SHELL: &CStr = c"/bin/sh";

/// What executes a program. The discriminant is the index of the first argument to use.
#[derive(Debug, Clone, Copy)]
pub(super) enum Executor {
    Shell = 0,
    Kernel = 1,
}

/// A program and everything that is needed to start it.
pub(super) struct Image<'a> {
    parent: Pid,
    cwd: Option<CString>,
    /// Its standard input, output and error. None of them is descriptor 0, 1 or 2, so that no
    /// `dup2` overwrites another.
    ends: [OwnedFd; 3],
    jail: Option<&'a Jail>,
    /// The resource limit that marks the process's tree.
    limit: Option<Rlimit>,
    arguments: Strings,
    environment: Strings,
}

impl<'a> Image<'a> {
    /// Returns the image, and this program's ends of the pipes.
    pub(super) fn new(
        spec: &Spec,
        tree: TreeId,
        jail: Option<&'a Jail>,
    ) -> io::Result<(Self, [OwnedFd; 3])> {
        // Resolve a relative path against our working directory, not the child's.
        let program = std::path::absolute(spec.program())?;
        let arguments = [SHELL.to_owned(), text(program.into_os_string())?]
            .into_iter()
            .map(Ok)
            .chain(spec.arguments().iter().cloned().map(text));
        let arguments = Strings::new(arguments.collect::<io::Result<_>>()?);
        let variables = spec.environment(tree).into_iter().map(|(name, value)| {
            let mut variable = name;
            variable.push("=");
            variable.push(value);
            text(variable)
        });
        let environment = Strings::new(variables.collect::<io::Result<_>>()?);
        let cwd = spec.working_directory().map(|cwd| text(cwd.into()));
        let cwd = cwd.transpose()?;
        let ((stdin, to), (from, stdout), (from_error, stderr)) = (pipe()?, pipe()?, pipe()?);
        let image = Self {
            parent: getpid(),
            cwd,
            ends: [stdin, stdout, stderr],
            jail,
            limit: limit::of(tree),
            arguments,
            environment,
        };
        Ok((image, [to, from, from_error]))
    }

    /// Replaces the calling process with the program. On failure, returns the system's error
    /// number, with the flag of [`Unconfined`] if confining failed.
    ///
    /// The calling process must have blocked all signals. This function only makes system calls,
    /// with data prepared in advance: it takes no lock, allocates nothing and cannot panic.
    pub(super) fn execute(&self, by: Executor) -> Result<Infallible, i32> {
        signals::reset();
        self.prepare().map_err(Errno::raw_os_error)?;
        if let Some(jail) = self.jail {
            jail.enter().map_err(Unconfined::number)?;
        }
        // This comes last, so that a signal sent to this program's group does not reach a child
        // that has not left the group yet.
        signals::unblock();
        Err(self.exec(by as usize))
    }

    fn prepare(&self) -> rustix::io::Result<()> {
        setpgid(None, None)?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Fail if the parent died before the call above, because the signal would never arrive.
        if getppid() != Some(self.parent) {
            return Err(Errno::SRCH);
        }
        if let Some(limit) = self.limit {
            limit::set(limit);
        }
        let [stdin, stdout, stderr] = &self.ends;
        dup2_stdin(stdin)?;
        dup2_stdout(stdout)?;
        dup2_stderr(stderr)?;
        match &self.cwd {
            Some(cwd) => chdir(cwd.as_c_str()),
            None => Ok(()),
        }
    }

    /// Executes the program named by argument `first`, with the arguments from `first` on as its
    /// `argv`. Returns only on error.
    fn exec(&self, first: usize) -> i32 {
        let arguments = &self.arguments.pointers[first..];
        // SAFETY: both arrays end with a null pointer, and their other pointers refer to strings
        // that live as long as `self`.
        unsafe {
            libc::execve(
                arguments[0],
                arguments.as_ptr(),
                self.environment.pointers.as_ptr(),
            );
            *libc::__errno_location()
        }
    }
}

/// A null-terminated array of C strings.
struct Strings {
    pointers: Vec<*const c_char>,
    /// Owns the strings, which do not move when the vector does.
    _strings: Vec<CString>,
}

impl Strings {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|string| string.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _strings: strings,
        }
    }
}

/// Converts to a C string. The error for a NUL byte has no system error number.
fn text(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Creates a pipe whose ends are close-on-exec and are not descriptors 0, 1 or 2. The system could
/// assign these if this program has closed them.
fn pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((above_standard(read)?, above_standard(write)?))
}

fn above_standard(fd: OwnedFd) -> rustix::io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if fd.as_raw_fd() >= FIRST {
        return Ok(fd);
    }
    rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), FIRST)
}
