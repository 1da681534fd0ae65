//! Frames to the terminal, from a thread of their own: one that does not read holds up nobody but the next frame.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use tokio::sync::Notify;

/// Where frames are written.
pub(super) struct Writer {
    to: Sender<String>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Now {
    #[default]
    Free,
    Writing,
    /// There is no terminal any more.
    Gone,
}

impl State {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, now: Now) {
        *self.now() = now;
        self.changed.notify_all();
    }
}

impl Writer {
    pub(super) fn new(written: Arc<Notify>) -> io::Result<Self> {
        let (to, frames) = channel();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || write_all(&frames, &shared, &written))?;
        Ok(Self { to, state })
    }

    pub(super) fn is_free(&self) -> bool {
        *self.state.now() == Now::Free
    }

    pub(super) fn is_gone(&self) -> bool {
        *self.state.now() == Now::Gone
    }

    /// Writes a frame. There is no other on its way: see [`Writer::is_free`].
    pub(super) fn write(&self, frame: String) {
        if self.is_gone() {
            return;
        }
        self.state.set(Now::Writing);
        if self.to.send(frame).is_err() {
            self.state.set(Now::Gone);
        }
    }

    /// Waits until all is written, but not for a terminal that does not read.
    pub(super) fn drain(&self, patience: Duration) {
        let now = self.state.now();
        let waited = self
            .state
            .changed
            .wait_timeout_while(now, patience, |now| *now == Now::Writing);
        drop(waited);
    }
}

fn write_all(frames: &Receiver<String>, state: &State, written: &Notify) {
    while let Ok(frame) = frames.recv() {
        let done = rustix_write(frame.as_bytes());
        state.set(if done.is_ok() { Now::Free } else { Now::Gone });
        written.notify_one();
        if done.is_err() {
            return;
        }
    }
}

/// Past the lock of [`io::stdout`]: whoever restores the terminal must not wait for a frame.
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
