//! What a child becomes: made in the parent, turned into by the child with system calls alone.

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

/// What runs a program that is neither a binary nor has a first line that names an interpreter, as everywhere on Unix.
const SHELL: &CStr = c"/bin/sh";

/// What executes a program; as a number, the first of the arguments that there are for it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Executed {
    ByTheShell = 0,
    ByTheKernel = 1,
}

/// A program with all that it is started with.
pub(super) struct Image<'a> {
    parent: Pid,
    cwd: Option<CString>,
    /// Its standard input, output and error. None of them is 0, 1 or 2, so that none is overwritten by another.
    ends: [OwnedFd; 3],
    jail: Option<&'a Jail>,
    /// The mark of its tree.
    limit: Option<Rlimit>,
    arguments: Strings,
    environment: Strings,
}

impl<'a> Image<'a> {
    /// The image, and this program's ends of its pipes.
    pub(super) fn new(
        spec: &Spec,
        tree: TreeId,
        jail: Option<&'a Jail>,
    ) -> io::Result<(Self, [OwnedFd; 3])> {
        // From this program's directory, not from the child's.
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

    /// Turns the calling process into it, or says why that cannot be: an error number of the system, with a bit of
    /// [`Unconfined`] where confining failed.
    ///
    /// The calling process has all signals blocked. It makes system calls on what was made before: it takes no lock, allocates nothing and cannot panic.
    pub(super) fn execute(&self, by: Executed) -> Result<Infallible, i32> {
        signals::reset();
        self.prepare().map_err(Errno::raw_os_error)?;
        if let Some(jail) = self.jail {
            jail.enter().map_err(Unconfined::number)?;
        }
        // Last, so that what is sent to this program's group does not meet a child that has not left it yet.
        signals::unblock();
        Err(self.exec(by as usize))
    }

    fn prepare(&self) -> rustix::io::Result<()> {
        setpgid(None, None)?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the call above, and then no signal will come.
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

    /// Executes the argument at `first`, with the ones from there on. Returns on an error alone.
    fn exec(&self, first: usize) -> i32 {
        let arguments = &self.arguments.pointers[first..];
        // SAFETY: both arrays end in a null pointer, and their other pointers are to strings that live as long as `self`.
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

/// Strings as C has them: pointers, the last one null.
struct Strings {
    pointers: Vec<*const c_char>,
    /// What they point to, which does not move with the vector.
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

/// A NUL byte in it is an error that has no number of the system.
fn text(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// A pipe whose ends are closed on exec and are neither 0, 1 nor 2, which a program may have closed.
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
