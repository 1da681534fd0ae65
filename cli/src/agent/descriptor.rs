//! Standard input and output, watched by the runtime. Their flags stay as they are: others may share them, such as the shell
//! that a terminal is given back to. So nothing is read or written before it is known not to wait.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
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

/// What a read without waiting has come to.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux can read so")
)]
pub(crate) enum AtOnce {
    /// So many bytes; none at the end.
    Read(usize),
    Nothing,
    /// It cannot be done, or something is wrong; the system must be asked first.
    Unknown,
}

/// Reads what is there without waiting, where the system can do so whatever the flags are: Linux, for pipes and sockets.
#[cfg(target_os = "linux")]
pub(crate) fn read_at_once(fd: &impl AsFd, buffer: &mut [u8]) -> AtOnce {
    let mut buffers = [io::IoSliceMut::new(buffer)];
    match preadv2(fd, &mut buffers, HERE, ReadWriteFlags::NOWAIT) {
        Ok(count) => AtOnce::Read(count),
        Err(Errno::AGAIN) => AtOnce::Nothing,
        Err(_) => AtOnce::Unknown,
    }
}

/// Writes as much as goes out without waiting; `None` where that is nothing, or the system must be asked first.
#[cfg(target_os = "linux")]
pub(crate) fn write_at_once(fd: &impl AsFd, bytes: &[u8]) -> Option<usize> {
    let written = pwritev2(fd, &[io::IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT);
    written.ok().filter(|count| *count > 0)
}

/// Where the descriptor is by itself, which is all that a pipe has.
#[cfg(target_os = "linux")]
const HERE: u64 = u64::MAX;

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_at_once(_: &impl AsFd, _: &mut [u8]) -> AtOnce {
    AtOnce::Unknown
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn write_at_once(_: &impl AsFd, _: &[u8]) -> Option<usize> {
    None
}

/// Whether one of these is so at this moment.
pub(crate) fn has(fd: &impl AsFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(fd, flags)];
    let now = Timespec::default();
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(flags)
}
