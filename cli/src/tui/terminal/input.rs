//! Keys and pastes, from a thread of its own.

use std::{io, thread, time::Duration};

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use tokio::sync::mpsc;

/// So much may wait to be handled: more than anybody types ahead.
const WAITING: usize = 1024;

/// What the user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Key(KeyEvent),
    Paste(String),
    /// There is nobody any more.
    Closed,
}

/// Reads until there is nobody any more. Signals, and with them changes of the size, come another way.
pub(crate) fn read() -> io::Result<mpsc::Receiver<Input>> {
    let (to, inputs) = mpsc::channel(WAITING);
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            while let Ok(true) = wait() {
                if !forward(&to) {
                    return;
                }
            }
            let _ = to.blocking_send(Input::Closed);
        })?;
    Ok(inputs)
}

/// Waits until there is something to read; false when there never will be. crossterm would read the end of a closed
/// terminal for ever.
fn wait() -> io::Result<bool> {
    let stdin = rustix::stdio::stdin();
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) => {
                let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
                return Ok(!ready[0].revents().intersects(gone));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Hands on all that is there. False when nobody wants it.
fn forward(to: &mpsc::Sender<Input>) -> bool {
    while event::poll(Duration::ZERO).unwrap_or(false) {
        let input = match event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Input::Key(key),
            Ok(Event::Paste(text)) => Input::Paste(text),
            _ => continue,
        };
        if to.blocking_send(input).is_err() {
            return false;
        }
    }
    true
}
