//! Refers to a process by a pidfd on Linux, so that it cannot be mistaken for another process.

#[cfg(target_os = "linux")]
pub(crate) use linux::Member;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Member;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open,
        pidfd_send_signal, waitid,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use crate::table::Row;

    /// A process that is watched and signalled through a pidfd, so that a reused id is harmless.
    #[derive(Debug)]
    pub(crate) struct Member {
        pub(crate) pid: i32,
        pub(crate) start: u64,
        pub(crate) name: String,
        fd: AsyncFd<OwnedFd>,
    }

    impl Member {
        /// Opens a pidfd for a child of this process that has not been reaped.
        pub(crate) fn child(pid: Pid) -> io::Result<Self> {
            let fd = pidfd_open(pid, PidfdFlags::empty())?;
            let pid = pid.as_raw_pid();
            Ok(Self {
                pid,
                start: Row::read(pid).map_or(0, |row| row.start),
                name: String::new(),
                fd: watch(fd)?,
            })
        }

        /// Opens a pidfd for the process in a table row; `None` if it has exited and its id may be
        /// reused.
        pub(crate) fn of(row: &Row) -> Option<Self> {
            let fd = pidfd_open(Pid::from_raw(row.pid)?, PidfdFlags::empty()).ok()?;
            // The pidfd is open, so what is read now describes its process, unless that process was
            // reaped in between. The kernel reuses an id only after cycling through all the others,
            // so never within one tick of `start`.
            let now = Row::read(row.pid)?;
            (now.start == row.start).then_some(())?;
            Some(Self {
                pid: row.pid,
                start: row.start,
                name: row.name.clone(),
                fd: watch(fd).ok()?,
            })
        }

        /// Reports whether all of its threads have exited.
        pub(crate) fn is_gone(&self) -> bool {
            let mut fds = [PollFd::new(self.fd.get_ref(), PollFlags::IN)];
            matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1))
        }

        /// Resolves when it has exited, reaped or not.
        pub(crate) async fn gone(&self) {
            // An error means that the runtime is shutting down.
            let _ = self.fd.readable().await;
        }

        pub(crate) fn signal(&self, signal: Signal) {
            // Fails if it has exited or changed its user; nothing more can be done then.
            let _ = pidfd_send_signal(self.fd.get_ref(), signal);
        }

        /// Reaps it if it has exited and is a child of this process.
        pub(crate) fn reap(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
            waitid(
                WaitId::PidFd(self.fd.get_ref().as_fd()),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
            )
        }
    }

    fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        // SAFETY: an `OwnedFd` stays open until it is dropped and always returns the same
        // descriptor. It is moved into the `AsyncFd` and never taken out.
        unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use rustix::process::Signal;

    use crate::table::Row;

    /// Never created: this system has no pidfds, so a tree is its process group.
    #[derive(Debug)]
    pub(crate) struct Member {
        pub(crate) pid: i32,
        pub(crate) start: u64,
        pub(crate) name: String,
        never: std::convert::Infallible,
    }

    impl Member {
        pub(crate) fn of(_: &Row) -> Option<Self> {
            None
        }

        pub(crate) fn is_gone(&self) -> bool {
            match self.never {}
        }

        #[expect(clippy::unused_async, reason = "same signature as on Linux")]
        pub(crate) async fn gone(&self) {
            match self.never {}
        }

        pub(crate) fn signal(&self, _: Signal) {
            match self.never {}
        }

        pub(crate) fn reap(&self) -> rustix::io::Result<Option<rustix::process::WaitIdStatus>> {
            match self.never {}
        }
    }
}
