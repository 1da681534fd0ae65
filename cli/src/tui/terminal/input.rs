//! Keys and pastes, from a thread of its own.

use std::{
    io::{self, PipeReader, PipeWriter},
    thread,
};

use ratatui::crossterm::event::KeyEvent;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use tokio::sync::mpsc;

use super::keys::Keys;

/// So much may wait to be handled: more than anybody types ahead.
const WAITING: usize = 1024;
/// How long the rest of a sequence may be on its way; after that, an Esc was an Esc.
const REST: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 25_000_000,
};

/// What the user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Key(KeyEvent),
    Paste(String),
    /// There is nobody any more.
    Closed,
}

/// Reads for as long as this is there: what is typed after that is for the shell.
pub(crate) struct Reading(#[expect(dead_code, reason = "dropped, it ends the thread")] PipeWriter);

/// Reads until there is nobody any more. Signals, and with them changes of the size, come another way.
pub(crate) fn read() -> io::Result<(mpsc::Receiver<Input>, Reading)> {
    let (to, inputs) = mpsc::channel(WAITING);
    let (stop, kept) = io::pipe()?;
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            let _ = forward(&to, &stop);
            let _ = to.blocking_send(Input::Closed);
        })?;
    Ok((inputs, Reading(kept)))
}

/// Hands on what is typed. It ends when there is nobody who types, or nobody who wants it.
fn forward(to: &mpsc::Sender<Input>, stop: &PipeReader) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut keys = Keys::default();
    let mut bytes = [0; 4096];
    loop {
        let mut ready = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        let patience = keys.is_waiting().then_some(&REST);
        let inputs = match poll(&mut ready, patience) {
            Ok(0) => keys.end(),
            Ok(_) if !ready[1].revents().is_empty() => return Ok(()),
            Ok(_) => match rustix::io::read(stdin, &mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => keys.feed(&bytes[..count]),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            },
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for input in inputs {
            if to.blocking_send(input).is_err() {
                return Ok(());
            }
        }
    }
}
