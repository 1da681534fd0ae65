//! Builds the rules in the parent, and applies them in the child.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::sock_filter;
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::{BuildError, Confined, Confinement, landlock, seccomp};
use crate::Spec;

/// The capabilities that a process running as root keeps: to access files and change their owner,
/// signal processes, change its user, and listen on a low port. With the others, it could bypass
/// the rules (`/proc/kcore`, raw devices, modules).
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Rules for one process.
pub(crate) struct Jail {
    landlock: Option<OwnedFd>,
    filter: Option<Vec<sock_filter>>,
}

impl Jail {
    /// Builds the rules. Runs in the parent, because it opens files and allocates.
    pub(crate) fn build(
        confinement: &Confinement,
        spec: &Spec,
    ) -> Result<(Self, Confined), BuildError> {
        let support = confinement.support;
        let rules = support
            .landlock()
            .map(|abi| landlock::rules(confinement, spec, abi));
        let (landlock, missing) = rules.transpose()?.unzip();
        let filter = support
            .seccomp()
            .then(|| seccomp::filter(&confinement.net))
            .flatten();
        let confined = Confined {
            enforced: confinement.enforced(),
            missing: missing.unwrap_or_default(),
        };
        Ok((Self { landlock, filter }, confined))
    }

    /// Applies the rules to the calling process, permanently. Runs between fork and exec, so it
    /// only makes system calls, with data prepared in advance.
    pub(crate) fn enter(&self) -> rustix::io::Result<()> {
        close_on_exec()?;
        if self.landlock.is_none() && self.filter.is_none() {
            return Ok(());
        }
        drop_capabilities();
        // Landlock and seccomp both require this. It also prevents an escape through a setuid
        // program.
        set_no_new_privs(true)?;
        if let Some(rules) = &self.landlock {
            // SAFETY: the call takes two integers.
            check(unsafe {
                libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0)
            })?;
        }
        if let Some(filter) = &self.filter {
            let program = libc::sock_fprog {
                len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
                filter: filter.as_ptr().cast_mut(),
            };
            // SAFETY: the pointer refers to `len` instructions, which the kernel copies and does
            // not change.
            check(unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    0,
                    &raw const program,
                )
            })?;
        }
        Ok(())
    }
}

/// Drops all capabilities except [`KEPT`]. A program executed by root gets everything in the
/// bounding and inheritable sets, so the first is reduced and the second is emptied. Errors are
/// ignored: they mean that this process has no capabilities to drop.
fn drop_capabilities() {
    let _ = clear_ambient_capability_set();
    if let Ok(mut sets) = capabilities(None) {
        sets.inheritable = CapabilitySet::empty();
        let _ = set_capabilities(None, sets);
    }
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        // This call also fails for the first capability that the kernel does not know.
        if !KEPT.contains(capability) && remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
}

/// Makes all descriptors except the standard streams close on exec. A terminal or a socket that a
/// library in the host left open would be a way out of the jail.
fn close_on_exec() -> rustix::io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes three integers. It only sets a flag that takes effect on exec.
    let closed = check(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    });
    match closed {
        // Kernels before 5.11 do not support CLOSE_RANGE_CLOEXEC. Everything that this program
        // opens is close-on-exec anyway.
        Err(Errno::NOSYS | Errno::INVAL) => Ok(()),
        result => result,
    }
}

fn check(result: libc::c_long) -> rustix::io::Result<()> {
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}
