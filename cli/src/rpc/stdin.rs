//! Standard input without a thread that waits for it.

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

use crate::agent::descriptor::{AtOnce, CLOSED, has, read_at_once, watched};

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

/// Standard input.
#[derive(Debug)]
pub(super) struct Stdin {
    /// `None`: a file, which can be read at any time.
    watched: Option<AsyncFd<OwnedFd>>,
    /// Nothing has been tried yet: what is there already need not be announced first.
    fresh: bool,
}

impl Stdin {
    /// Must be called within a tokio runtime.
    pub(super) fn new() -> Self {
        Self {
            watched: watched(&io::stdin(), Interest::READABLE).ok(),
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
            // It never makes us wait, so that we must see to it ourselves that others have their turn.
            let turn = ready!(coop::poll_proceed(context));
            turn.made_progress();
            return Poll::Ready(read(&io::stdin(), buffer).map(drop));
        };
        if fresh && has(stdin.get_ref(), PollFlags::IN | CLOSED) {
            return Poll::Ready(read(stdin.get_ref(), buffer).map(drop));
        }
        loop {
            let mut is_ready = ready!(stdin.poll_read_ready(context))?;
            let wanted = buffer.remaining().min(CHUNK);
            let space = buffer.initialize_unfilled_to(wanted);
            match read_at_once(stdin.get_ref(), space) {
                AtOnce::Read(count) => {
                    // Whether there is more is found out by reading: a driver often has sent the next command by then.
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                AtOnce::Unknown if has(stdin.get_ref(), PollFlags::IN | CLOSED) => {}
                // What is closed stays announced: another one may have opened it again, but the end is the end.
                AtOnce::Nothing if is_ready.ready().is_read_closed() => return Poll::Ready(Ok(())),
                AtOnce::Nothing | AtOnce::Unknown => {
                    is_ready.clear_ready();
                    continue;
                }
            }
            let was_all = read(stdin.get_ref(), buffer)?;
            if was_all {
                is_ready.clear_ready();
            }
            return Poll::Ready(Ok(()));
        }
    }
}

/// Reads what is there, and says whether that was all.
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
