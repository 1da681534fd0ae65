//! Signal handling for a child that shares this program's memory.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Resets every signal that this program handles to its default, and also SIGPIPE, which Rust
/// programs ignore. Called by the child.
pub(super) fn reset() {
    const LAST: c_int = 64;
    let default = MaybeUninit::<libc::sigaction>::zeroed();
    for signal in 1..=LAST {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a zeroed `sigaction` is valid and means the default action, no flags and an empty
        // mask. The first call writes `now`, the second reads `default`. The calls fail for signals
        // that the C library reserves, which stay unchanged.
        unsafe {
            if libc::sigaction(signal, ptr::null(), now.as_mut_ptr()) != 0 {
                continue;
            }
            let handler = now.assume_init_ref().sa_sigaction;
            let is_handled = handler != libc::SIG_DFL && handler != libc::SIG_IGN;
            if is_handled || signal == libc::SIGPIPE {
                libc::sigaction(signal, default.as_ptr(), ptr::null_mut());
            }
        }
    }
}

/// Unblocks all signals. Called by the child, which no longer has handlers.
pub(super) fn unblock() {
    let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is written by the first call and read by the second.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

/// A guard that blocks all signals for this thread until it is dropped.
pub(super) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(super) fn all() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the first call writes `all`, the second reads it and writes `before`. A zeroed
        // set is valid too.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self {
                before: before.assume_init(),
            }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the call reads the set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}
