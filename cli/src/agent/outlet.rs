//! Lines of JSON to standard output. A reader that stops reading holds up whoever tells, and nothing else.

use std::{io, os::fd::OwnedFd};

use rustix::{event::PollFlags, io::Errno};
use serde::Serialize;
use tokio::io::{Interest, unix::AsyncFd};

use super::descriptor::{CLOSED, has, watched};

/// Lines that come at once go out together, up to so many bytes.
const BATCH: usize = 64 * 1024;
/// What a pipe that can be written to takes without waiting (`PIPE_BUF`); a socket takes more.
const PIECE: usize = 4096;

/// What a closed pipe or socket is seen by.
const CLOSING: Interest = Interest::READABLE.add(Interest::ERROR);

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Gone;

/// Where lines are told.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// What was told, and how much of it has been written.
    told: Vec<u8>,
    written: usize,
    /// While standard output takes nothing more.
    blocked: Option<AsyncFd<OwnedFd>>,
    /// Woken when the other end closes, and not by what it reads; `None`: a file, which has no other end.
    other_end: Option<AsyncFd<OwnedFd>>,
}

impl Outlet {
    /// Must be called within a tokio runtime.
    pub(crate) fn new() -> Self {
        Self {
            told: Vec::new(),
            written: 0,
            blocked: None,
            other_end: watched(&io::stdout(), CLOSING).ok(),
        }
    }

    /// Adds a line to what is to be written.
    pub(crate) fn put(&mut self, line: &impl Serialize) {
        if self.written > 0 && self.written >= self.told.len() / 2 {
            self.told.drain(..self.written);
            self.written = 0;
        }
        serde_json::to_writer(&mut self.told, line).expect("events and answers are JSON");
        self.told.push(b'\n');
    }

    /// How many bytes wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.told.len() - self.written
    }

    /// Whether whoever has much to tell should wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting() >= BATCH
    }

    /// Tells a line. It goes out with the next [`flush`](Self::flush), or when there are many.
    pub(crate) async fn tell(&mut self, line: &impl Serialize) -> Result<(), Gone> {
        self.put(line);
        if self.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes what was told. May be cancelled.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        while self.write()? {
            self.writable().await?;
        }
        self.blocked = None;
        Ok(())
    }

    /// Writes what was told; where that is nothing, waits until nobody reads any more. May be cancelled.
    pub(crate) async fn work(&mut self) -> Result<(), Gone> {
        if self.waiting() > 0 {
            return self.flush().await;
        }
        self.gone().await;
        Err(Gone)
    }

    /// Writes as much as goes out at once, and says whether something is left.
    fn write(&mut self) -> Result<bool, Gone> {
        let stdout = io::stdout();
        while self.waiting() > 0 {
            if !has(&stdout, PollFlags::OUT | CLOSED) {
                return Ok(true);
            }
            let end = self.told.len().min(self.written + PIECE);
            match rustix::io::write(&stdout, &self.told[self.written..end]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Err(Gone),
            }
        }
        self.written = 0;
        self.told.clear();
        // A large answer is not kept room for.
        self.told.shrink_to(BATCH);
        Ok(false)
    }

    async fn writable(&mut self) -> Result<(), Gone> {
        let stdout = match self.blocked.take() {
            Some(stdout) => stdout,
            None => watched(&io::stdout(), Interest::WRITABLE).map_err(|_| Gone)?,
        };
        let stdout = self.blocked.insert(stdout);
        loop {
            let mut ready = stdout.writable().await.map_err(|_| Gone)?;
            if has(stdout.get_ref(), PollFlags::OUT | CLOSED) {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    /// Resolves when nobody reads any more.
    pub(crate) async fn gone(&self) {
        let Some(stdout) = &self.other_end else {
            return std::future::pending().await;
        };
        while let Ok(mut ready) = stdout.ready(CLOSING).await {
            if has(stdout.get_ref(), CLOSED) {
                return;
            }
            ready.clear_ready();
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(mut self) -> Result<(), Gone> {
        self.flush().await
    }
}
