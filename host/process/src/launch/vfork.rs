//! Starts a child that shares its parent's memory until it executes, so that no memory or page
//! tables are copied. With `fork`, a start takes longer the larger this program is: 32 ms at 500
//! MB.
//!
//! The standard library does the same (`posix_spawn`), but cannot run our steps in the child.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, WaitOptions, waitpid};

use super::Launched;
use super::image::{Executor, Image};
use super::signals::Blocked;
use crate::Spec;
use crate::confine::Jail;
use crate::marker::TreeId;
use crate::shebang;

/// The child calls only a few functions, which use little stack.
const STACK: usize = 64 << 10;

/// Starts a process in its own process group, with three pipes, an empty signal mask, SIGPIPE reset
/// to its default action, and the marks of its tree. The kernel kills it when the calling thread
/// exits.
pub(crate) fn launch(spec: &Spec, tree: TreeId, jail: Option<&Jail>) -> io::Result<Launched> {
    let (image, [stdin, stdout, stderr]) = Image::new(spec, tree, jail)?;
    let pid = match vfork(&image, Executor::Kernel) {
        Err(error) if is_shell_script(&error, spec) => vfork(&image, Executor::Shell)?,
        result => result?,
    };
    Ok(Launched {
        pid,
        stdin: Some(stdin.into()),
        stdout: Some(stdout.into()),
        stderr: Some(stderr.into()),
    })
}

/// Reports whether the kernel rejected (ENOEXEC) a script without an interpreter line, which a
/// shell can run. Returns `false` for an interpreter of unknown format or a binary for another
/// machine.
fn is_shell_script(error: &io::Error, spec: &Spec) -> bool {
    error.raw_os_error() == Some(libc::ENOEXEC) && shebang::is_missing(spec.program())
}

/// Data that parent and child share.
struct Shared<'a> {
    image: &'a Image<'a>,
    by: Executor,
    /// The error number if the child could not execute the program, otherwise 0.
    error: AtomicI32,
}

fn vfork(image: &Image<'_>, by: Executor) -> io::Result<Pid> {
    let mut stack = Box::<[u8]>::new_uninit_slice(STACK);
    let shared = Shared {
        image,
        by,
        error: AtomicI32::new(0),
    };
    let top = stack.as_mut_ptr_range().end;
    // Round down to an alignment that every architecture accepts.
    let top = top.wrapping_byte_sub(top.addr() % 16);
    let blocked = Blocked::all();
    // SAFETY: with CLONE_VM the child runs in this memory, and with CLONE_VFORK this thread waits
    // until the child has executed a program or exited. So:
    // - everything it uses (the stack, `shared` and what that refers to) outlives its use;
    // - it has the stack to itself. The stack grows down from `top`, which is inside it and
    //   aligned;
    // - it writes only `error`, which is atomic, and `errno`, which is this thread's and is not
    //   read across the call;
    // - it takes no lock that another thread may hold or wait for, and does not allocate (see
    //   `Image::execute`);
    // - no signal handler of this program runs in it: signals are blocked until it has reset the
    //   handlers. The handlers are its own (no CLONE_SIGHAND), and so are its descriptors and
    //   directory.
    let pid = unsafe {
        libc::clone(
            child,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw const shared).cast_mut().cast(),
        )
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(blocked);
    let pid = Pid::from_raw(pid).expect("a child's process id is positive");
    match shared.error.load(Ordering::Relaxed) {
        0 => Ok(pid),
        error => {
            // The child has exited. An error means that this program ignores SIGCHLD and there is
            // nothing to reap.
            let _ = waitpid(Some(pid), WaitOptions::empty());
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// The entry point of the child. If it cannot execute the program, the return value becomes its
/// exit status.
extern "C" fn child(shared: *mut c_void) -> c_int {
    // SAFETY: `vfork` passes a pointer to a `Shared` that lives until this process has executed a
    // program or exited.
    let shared = unsafe { &*shared.cast::<Shared<'_>>() };
    let Err(error) = shared.image.execute(shared.by);
    shared.error.store(error, Ordering::Relaxed);
    127
}
