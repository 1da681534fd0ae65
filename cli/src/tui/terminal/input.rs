//! Reads keys and pastes on a separate thread.

use std::{
    io::{self, PipeReader, PipeWriter},
    thread::{self, JoinHandle},
};

use ratatui::crossterm::event::KeyEvent;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use tokio::sync::mpsc;

use super::keys::Keys;

/// Capacity of the input channel, which is more than a user types while the main loop is busy.
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
    /// Whether the terminal has focus now.
    Focus(bool),
    /// The terminal has been closed.
    Closed,
}

/// The user's input. While this is paused, and after it is dropped, input is left for other
/// programs.
#[derive(Default)]
pub(crate) struct Inputs(Option<Reading>);

/// The running input thread. When `stop` is dropped, the thread ends.
struct Reading {
    inputs: mpsc::Receiver<Input>,
    stop: PipeWriter,
    thread: JoinHandle<()>,
}

impl Inputs {
    /// Starts the input thread. Signals, including resizes, are handled elsewhere.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        let (to, inputs) = mpsc::channel(CAPACITY);
        let (stopped, stop) = io::pipe()?;
        let thread = thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || {
                let _ = forward(&to, &stopped);
                let _ = to.blocking_send(Input::Closed);
            })?;
        self.0 = Some(Reading {
            inputs,
            stop,
            thread,
        });
        Ok(())
    }

    /// Stops the input thread. When this returns, it no longer reads from the terminal.
    pub(crate) fn pause(&mut self) {
        let Some(reading) = self.0.take() else {
            return;
        };
        // Drop the receiver, so that the thread does not block on sending.
        drop((reading.inputs, reading.stop));
        let _ = reading.thread.join();
    }

    /// Returns the next input. Never completes while input is paused.
    pub(crate) async fn next(&mut self) -> Input {
        match &mut self.0 {
            Some(reading) => reading.inputs.recv().await.unwrap_or(Input::Closed),
            None => std::future::pending().await,
        }
    }

    /// Returns an input that has already arrived.
    pub(crate) fn ready(&mut self) -> Option<Input> {
        self.0.as_mut()?.inputs.try_recv().ok()
    }
}

/// Forwards inputs until the terminal is closed or the [`Reading`] is dropped.
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
