//! The rules, made in the parent, and how the child puts itself under them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use libc::sock_filter;
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::{Confined, Confinement, Unbuilt, landlock, seccomp};
use crate::Spec;

/// What one that runs as root keeps of its privileges: to own and to reach its files, to change its user, and to
/// listen on a low port. The rest leads past the rules (`/proc/kcore`, raw devices, modules).
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
    /// Makes the rules, in the parent: this opens files and allocates.
    pub(crate) fn build(
        confinement: &Confinement,
        spec: &Spec,
    ) -> Result<(Self, Confined), Unbuilt> {
        let support = confinement.support;
        let rules = match support.landlock() {
            Some(abi) => Some(landlock::rules(confinement, spec, abi)?),
            None => None,
        };
        let (landlock, missing) = match rules {
            Some(rules) => (Some(rules.set), rules.missing),
            None => (None, Vec::<PathBuf>::new()),
        };
        let filter = support
            .seccomp()
            .then(|| seccomp::filter(&confinement.net))
            .flatten();
        let confined = Confined {
            enforced: confinement.enforced(),
            missing,
        };
        Ok((Self { landlock, filter }, confined))
    }

    /// Puts the calling process under the rules, for good. Runs between fork and exec: system calls on what was made
    /// before, nothing else.
    pub(crate) fn enter(&self) -> rustix::io::Result<()> {
        close_on_exec()?;
        if self.landlock.is_none() && self.filter.is_none() {
            return Ok(());
        }
        give_up_privileges();
        // Without this neither of the two below may be used, and a setuid program would leave the jail.
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
            // SAFETY: the kernel copies `len` instructions through a pointer to that many, and changes none.
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

/// What executes as root gets all that the bounding and the inheritable set have, so these are emptied. Whoever may not do
/// that is not root, or is root without privileges, and the errors mean no more than that.
fn give_up_privileges() {
    let _ = clear_ambient_capability_set();
    if let Ok(mut sets) = capabilities(None) {
        sets.inheritable = CapabilitySet::empty();
        let _ = set_capabilities(None, sets);
    }
    for number in 0..u64::BITS {
        let privilege = CapabilitySet::from_bits_retain(1 << number);
        // The first number that the kernel does not know is an error too.
        if !KEPT.contains(privilege) && remove_capability_from_bounding_set(privilege).is_err() {
            break;
        }
    }
}

/// A descriptor that some library of the host left open would be a way out: to a terminal, to a socket.
fn close_on_exec() -> rustix::io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes three integers, and closes nothing that this process still uses: it will be another program.
    let closed = check(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    });
    match closed {
        // A kernel before 5.11. What this program opens is closed on exec anyway.
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
