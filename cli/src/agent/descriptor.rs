//! Asynchronous standard input and output. Other processes, such as the shell, share the
//! descriptors, so `O_NONBLOCK` cannot be set. Instead, every read and write first checks that it
//! will not block.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use tokio::io::{Interest, unix::AsyncFd};

/// The poll flags that are set when the other end has been closed.
pub(crate) const CLOSED: PollFlags = PollFlags::ERR.union(PollFlags::HUP);

/// Duplicates a descriptor and registers it with the runtime. Fails for regular files, which never
/// block. Must be called within a tokio runtime.
pub(crate) fn register(of: &impl AsFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    let fd = of.as_fd().try_clone_to_owned()?;
    // SAFETY: the descriptor is open, exclusively owned, and closed when its owner is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// The result of a non-blocking read.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "non-blocking reads exist only on Linux")
)]
pub(crate) enum NonblockingRead {
    /// The number of bytes read; 0 at the end of the input.
    Read(usize),
    Nothing,
    /// Non-blocking reads are unsupported, or this one failed. Poll before reading.
    Unknown,
}

/// Reads available bytes without blocking, regardless of the descriptor's flags. Linux supports
/// this for pipes and sockets.
#[cfg(target_os = "linux")]
pub(crate) fn read_nonblocking(fd: &impl AsFd, buffer: &mut [u8]) -> NonblockingRead {
    let mut buffers = [io::IoSliceMut::new(buffer)];
    match preadv2(fd, &mut buffers, CURRENT_POSITION, ReadWriteFlags::NOWAIT) {
        Ok(count) => NonblockingRead::Read(count),
        Err(Errno::AGAIN) => NonblockingRead::Nothing,
        Err(_) => NonblockingRead::Unknown,
    }
}

/// Writes as many bytes as possible without blocking. Returns `None` if nothing can be written, or
/// if non-blocking writes are unsupported.
#[cfg(target_os = "linux")]
pub(crate) fn write_nonblocking(fd: &impl AsFd, bytes: &[u8]) -> Option<usize> {
    let written = pwritev2(
        fd,
        &[io::IoSlice::new(bytes)],
        CURRENT_POSITION,
        ReadWriteFlags::NOWAIT,
    );
    written.ok().filter(|count| *count > 0)
}

/// The offset that means "the current position". Pipes support no other offset.
#[cfg(target_os = "linux")]
const CURRENT_POSITION: u64 = u64::MAX;

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_nonblocking(_: &impl AsFd, _: &mut [u8]) -> NonblockingRead {
    NonblockingRead::Unknown
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn write_nonblocking(_: &impl AsFd, _: &[u8]) -> Option<usize> {
    None
}

/// Polls once, and reports whether one of these flags is set.
pub(crate) fn is_ready(fd: &impl AsFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(fd, flags)];
    let now = Timespec::default();
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(flags)
}
