//! Asynchronous standard input without a blocking thread.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::event::PollFlags;
use tokio::{
    io::{AsyncRead, Interest, ReadBuf, unix::AsyncFd},
    task::coop,
};

use crate::agent::descriptor::{CLOSED, NonblockingRead, is_ready, read_nonblocking, register};

/// Maximum number of bytes per read.
const CHUNK: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Stdin {
    /// `None` for a regular file, which is always readable.
    watched: Option<AsyncFd<OwnedFd>>,
    /// Whether nothing has been read yet. The first read does not wait for a readiness event if
    /// input is already available.
    fresh: bool,
}

impl Stdin {
    /// Creates a reader for standard input. Must be called within a tokio runtime.
    pub(super) fn new() -> Self {
        Self {
            watched: register(&io::stdin(), Interest::READABLE).ok(),
            fresh: true,
        }
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let fresh = std::mem::take(&mut self.fresh);
        let Some(stdin) = &self.watched else {
            // A file is always ready, so this must yield to other tasks explicitly.
            let turn = ready!(coop::poll_proceed(context));
            turn.made_progress();
            return Poll::Ready(read(&io::stdin(), buffer).map(drop));
        };
        if fresh && is_ready(stdin.get_ref(), PollFlags::IN | CLOSED) {
            return Poll::Ready(read(stdin.get_ref(), buffer).map(drop));
        }
        loop {
            let mut guard = ready!(stdin.poll_read_ready(context))?;
            let wanted = buffer.remaining().min(CHUNK);
            let space = buffer.initialize_unfilled_to(wanted);
            match read_nonblocking(stdin.get_ref(), space) {
                NonblockingRead::Read(count) => {
                    // Do not clear the readiness: the client has often sent the next command by
                    // now.
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                NonblockingRead::Unknown if is_ready(stdin.get_ref(), PollFlags::IN | CLOSED) => {}
                // All writers have hung up. Another one may have opened the pipe since, but the
                // first end of input is final.
                NonblockingRead::Nothing if guard.ready().is_read_closed() => {
                    return Poll::Ready(Ok(()));
                }
                NonblockingRead::Nothing | NonblockingRead::Unknown => {
                    guard.clear_ready();
                    continue;
                }
            }
            let was_all = read(stdin.get_ref(), buffer)?;
            if was_all {
                guard.clear_ready();
            }
            return Poll::Ready(Ok(()));
        }
    }
}

/// Reads available bytes, and reports whether all of them were read.
fn read(stdin: &impl AsFd, buffer: &mut ReadBuf<'_>) -> io::Result<bool> {
    let wanted = buffer.remaining().min(CHUNK);
    let space = buffer.initialize_unfilled_to(wanted);
    let count = loop {
        match rustix::io::read(stdin, &mut *space) {
            Err(rustix::io::Errno::INTR) => {}
            count => break count?,
        }
    };
    buffer.advance(count);
    Ok(0 < count && count < wanted)
}
