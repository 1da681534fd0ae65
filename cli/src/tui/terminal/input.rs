//! Reads keys and pastes on a separate thread.

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

/// Capacity of the input channel, which is more than anyone types ahead.
const CAPACITY: usize = 1024;
/// How long to wait for the rest of an escape sequence before a lone Esc counts as the Esc key.
const SEQUENCE_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 25_000_000,
};

/// User input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Key(KeyEvent),
    Paste(String),
    /// The terminal has been closed.
    Closed,
}

/// Keeps the input thread running. When this is dropped, the thread ends and further input goes to
/// the shell.
pub(crate) struct Reading(#[expect(dead_code, reason = "dropping it ends the thread")] PipeWriter);

/// Starts the input thread. Signals, including resizes, are handled elsewhere.
pub(crate) fn read() -> io::Result<(mpsc::Receiver<Input>, Reading)> {
    let (to, inputs) = mpsc::channel(CAPACITY);
    let (stop, kept) = io::pipe()?;
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            let _ = forward(&to, &stop);
            let _ = to.blocking_send(Input::Closed);
        })?;
    Ok((inputs, Reading(kept)))
}

/// Forwards inputs until the terminal is closed or the receiver is dropped.
fn forward(to: &mpsc::Sender<Input>, stop: &PipeReader) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut keys = Keys::default();
    let mut bytes = [0; 4096];
    loop {
        let mut ready = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        let timeout = keys.is_waiting().then_some(&SEQUENCE_TIMEOUT);
        let inputs = match poll(&mut ready, timeout) {
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
