//! Writes frames to the terminal on a separate thread, so that a slow terminal delays only the next
//! frame.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// A handle to the writer thread.
pub(super) struct ScreenWriter {
    to: Sender<String>,
    state: Arc<WriterState>,
}

#[derive(Default)]
struct WriterState {
    status: Mutex<WriterStatus>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum WriterStatus {
    #[default]
    Free,
    Writing,
    /// The terminal has been closed.
    Gone,
}

impl WriterState {
    fn set(&self, status: WriterStatus) {
        *self.status.lock() = status;
        self.changed.notify_all();
    }
}

impl ScreenWriter {
    pub(super) fn new(written: Arc<Notify>) -> io::Result<Self> {
        let (to, frames) = channel();
        let state = Arc::new(WriterState::default());
        let shared = Arc::clone(&state);
        thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || write_all(&frames, &shared, &written))?;
        Ok(Self { to, state })
    }

    pub(super) fn is_free(&self) -> bool {
        *self.state.status.lock() == WriterStatus::Free
    }

    pub(super) fn is_gone(&self) -> bool {
        *self.state.status.lock() == WriterStatus::Gone
    }

    /// Writes a frame. The previous frame must have been written; see [`ScreenWriter::is_free`].
    pub(super) fn write(&self, frame: String) {
        if self.is_gone() {
            return;
        }
        self.state.set(WriterStatus::Writing);
        if self.to.send(frame).is_err() {
            self.state.set(WriterStatus::Gone);
        }
    }

    /// Waits until the frame has been written, for at most `timeout`.
    pub(super) fn drain(&self, timeout: Duration) {
        let mut status = self.state.status.lock();
        let is_writing = |status: &mut WriterStatus| *status == WriterStatus::Writing;
        let _ = self
            .state
            .changed
            .wait_while_for(&mut status, is_writing, timeout);
    }
}

fn write_all(frames: &Receiver<String>, state: &WriterState, written: &Notify) {
    while let Ok(frame) = frames.recv() {
        let done = rustix_write(frame.as_bytes());
        state.set(if done.is_ok() {
            WriterStatus::Free
        } else {
            WriterStatus::Gone
        });
        written.notify_one();
        if done.is_err() {
            return;
        }
    }
}

/// Writes without locking [`io::stdout`], so that restoring the terminal never has to wait for a
/// frame.
fn rustix_write(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
