//! A child that borrows its parent's memory until it executes, so that nothing of that memory is copied or prepared for
//! being copied. With `fork` a start takes longer the larger this program is: 32 ms where it has 500 MB.
//!
//! The standard library does the same (`posix_spawn`), but not for a child that has more to do than it knows of.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, WaitOptions, waitpid};

use super::Launched;
use super::image::{Executed, Image};
use super::signals::Blocked;
use crate::Spec;
use crate::confine::Jail;
use crate::marker::TreeId;
use crate::shebang;

/// The child calls a handful of functions that keep next to nothing on the stack.
const STACK: usize = 64 << 10;

/// Starts it in a process group of its own, with three pipes, an empty signal mask and SIGPIPE at its default, and with
/// the marks of its tree. The kernel kills it when the calling thread ends.
pub(crate) fn launch(spec: &Spec, tree: TreeId, jail: Option<&Jail>) -> io::Result<Launched> {
    let (image, [stdin, stdout, stderr]) = Image::new(spec, tree, jail)?;
    let pid = match vfork(&image, Executed::ByTheKernel) {
        Err(error) if is_for_the_shell(&error, spec) => vfork(&image, Executed::ByTheShell)?,
        result => result?,
    };
    Ok(Launched {
        pid,
        stdin: Some(stdin.into()),
        stdout: Some(stdout.into()),
        stderr: Some(stderr.into()),
    })
}

/// Whether the kernel does not know the program's format and a shell may: it is a script without a first line. Not what a
/// first line names, nor a binary of another machine.
fn is_for_the_shell(error: &io::Error, spec: &Spec) -> bool {
    error.raw_os_error() == Some(libc::ENOEXEC) && shebang::is_missing(spec.program())
}

/// What parent and child share.
struct Shared<'a> {
    image: &'a Image<'a>,
    by: Executed,
    /// Why the child could not execute; 0 while it has not failed.
    error: AtomicI32,
}

fn vfork(image: &Image<'_>, by: Executed) -> io::Result<Pid> {
    let mut stack = Box::<[u8]>::new_uninit_slice(STACK);
    let shared = Shared {
        image,
        by,
        error: AtomicI32::new(0),
    };
    let top = stack.as_mut_ptr_range().end;
    // Down to the alignment that every architecture's calls are content with.
    let top = top.wrapping_byte_sub(top.addr() % 16);
    let blocked = Blocked::all();
    // SAFETY: with CLONE_VM the child runs in this memory, and with CLONE_VFORK this thread waits until the child has
    // executed or ended. So:
    // - what it uses, the stack, `shared` and all that this refers to, lives until it has done with it;
    // - it has that stack for itself, grown downwards from `top`, which is inside of it and aligned;
    // - it writes `error`, an atomic, and `errno`, which is this thread's and is not looked at across the call;
    // - it takes no lock, which another thread might hold or wait for, and does not allocate (see `Image::execute`);
    // - no handler of this program runs in it, where it might do all that: signals are blocked until it has
    //   set handlers to their defaults. They are its own (there is no CLONE_SIGHAND), as are its descriptors and directory.
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
    let pid = Pid::from_raw(pid).expect("the number of a child");
    match shared.error.load(Ordering::Relaxed) {
        0 => Ok(pid),
        error => {
            // It has ended. An error here means that this program ignores SIGCHLD and nothing is left to be reaped.
            let _ = waitpid(Some(pid), WaitOptions::empty());
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// Where the child begins, and, if it cannot execute, ends: what this returns becomes its exit status.
extern "C" fn child(shared: *mut c_void) -> c_int {
    // SAFETY: `vfork` passes a pointer to a `Shared` that lives until this process has executed or ended.
    let shared = unsafe { &*shared.cast::<Shared<'_>>() };
    let Err(error) = shared.image.execute(shared.by);
    shared.error.store(error, Ordering::Relaxed);
    127
}
