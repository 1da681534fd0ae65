//! Standard input and output, watched by the runtime. Their flags stay as they are: others may share them, such as the shell
//! that a terminal is given back to. So nothing is read or written before it is known not to wait.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{Interest, unix::AsyncFd};

/// The other end is closed.
pub(crate) const CLOSED: PollFlags = PollFlags::ERR.union(PollFlags::HUP);

/// A descriptor of our own for what `of` is, watched. A file cannot be: it never makes anybody wait. Must be called within a
/// tokio runtime.
pub(crate) fn watched(of: &impl AsFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    let fd = of.as_fd().try_clone_to_owned()?;
    // SAFETY: it is open, nobody else knows it, and it is closed when the value that owns it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// Whether one of these is so at this moment.
pub(crate) fn has(fd: &impl AsFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(fd, flags)];
    let now = Timespec::default();
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(flags)
}
