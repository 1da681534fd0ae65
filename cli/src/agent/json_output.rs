//! Writes lines of JSON to standard output without blocking the runtime. If the reader stops
//! reading, only senders wait (back-pressure).

mod large_line;

use std::{collections::VecDeque, io, os::fd::OwnedFd};

use rustix::{event::PollFlags, io::Errno};
use serde::Serialize;
use tokio::io::{Interest, unix::AsyncFd};

use crate::clean;

use super::descriptor::{CLOSED, is_ready, register, write_nonblocking};
use large_line::{Bounded, LargeLine};

/// Lines are written in batches of up to this many bytes.
const BATCH: usize = 64 * 1024;
/// Lines with more bytes than this are written in pieces.
const LARGE: usize = 256 * 1024;
/// The number of bytes that a writable pipe accepts without blocking (`PIPE_BUF`). A socket accepts
/// more.
const PIECE: usize = 4096;

/// The readiness events that report a closed pipe or socket.
const CLOSING: Interest = Interest::READABLE.add(Interest::ERROR);

/// The reader has closed standard output.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct OutputClosed;

/// A bounded writer of JSON lines.
#[derive(Debug)]
pub(crate) struct JsonOutput {
    /// The bytes being written. The first `written` bytes are already written.
    current: Vec<u8>,
    written: usize,
    /// The chunks to write after `current`.
    queued: VecDeque<Chunk>,
    /// Set while standard output accepts no more bytes.
    blocked: Option<AsyncFd<OwnedFd>>,
    /// Reports when the reader closes its end; `None` for a regular file.
    other_end: Option<AsyncFd<OwnedFd>>,
}

/// Several lines, or a single large one.
#[derive(Debug)]
enum Chunk {
    Lines(Vec<u8>),
    Large(LargeLine),
}

impl JsonOutput {
    /// Creates a writer for standard output. Must be called within a tokio runtime.
    pub(crate) fn new() -> Self {
        Self {
            current: Vec::new(),
            written: 0,
            queued: VecDeque::new(),
            blocked: None,
            other_end: register(&io::stdout(), CLOSING).ok(),
        }
    }

    /// Queues a line.
    pub(crate) fn push(&mut self, line: impl Serialize + Send + 'static) {
        let to = self.end();
        let start = to.len();
        let bounded = Bounded { to, left: LARGE };
        if clean::write_json(bounded, &line).is_ok() {
            self.end().push(b'\n');
            return;
        }
        self.end().truncate(start);
        self.queued.push_back(Chunk::Large(LargeLine::new(line)));
    }

    /// Returns the buffer to append lines to.
    fn end(&mut self) -> &mut Vec<u8> {
        match self.queued.back() {
            None => return &mut self.current,
            Some(Chunk::Lines(_)) => {}
            Some(Chunk::Large(_)) => self.queued.push_back(Chunk::Lines(Vec::new())),
        }
        match self.queued.back_mut() {
            Some(Chunk::Lines(lines)) => lines,
            _ => unreachable!("pushed above"),
        }
    }

    /// Returns the number of queued bytes. A large line counts as [`LARGE`] bytes, whatever its
    /// size.
    pub(crate) fn waiting(&self) -> usize {
        let queued = self.queued.iter().map(|part| match part {
            Chunk::Lines(lines) => lines.len(),
            Chunk::Large(_) => LARGE,
        });
        self.current.len() - self.written + queued.sum::<usize>()
    }

    /// Reports whether senders should wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting() >= BATCH
    }

    /// Queues a line, and flushes if the queue is full.
    pub(crate) async fn send(
        &mut self,
        line: impl Serialize + Send + 'static,
    ) -> Result<(), OutputClosed> {
        self.push(line);
        if self.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes all queued lines. Cancel-safe.
    pub(crate) async fn flush(&mut self) -> Result<(), OutputClosed> {
        loop {
            while self.write()? {
                self.writable().await?;
            }
            match self.queued.front_mut() {
                None => break,
                Some(Chunk::Lines(lines)) => {
                    self.current = std::mem::take(lines);
                    self.queued.pop_front();
                }
                Some(Chunk::Large(large)) => match large.next().await {
                    Some(piece) => self.current = piece,
                    None => drop(self.queued.pop_front()),
                },
            }
        }
        self.blocked = None;
        Ok(())
    }

    /// Writes as much as possible without blocking, and leaves the rest to [`work`](Self::work).
    pub(crate) fn write_now(&mut self) -> Result<(), OutputClosed> {
        if self.blocked.is_none() {
            self.write()?;
        }
        Ok(())
    }

    /// Writes all queued lines; if there are none, waits until the reader closes standard output.
    /// Cancel-safe.
    pub(crate) async fn work(&mut self) -> Result<(), OutputClosed> {
        if self.waiting() > 0 {
            return self.flush().await;
        }
        self.closed().await;
        Err(OutputClosed)
    }

    /// Writes as much as possible without blocking, and reports whether anything is left.
    fn write(&mut self) -> Result<bool, OutputClosed> {
        let stdout = io::stdout();
        while self.written < self.current.len() {
            if let Some(count) = write_nonblocking(&stdout, &self.current[self.written..]) {
                self.written += count;
                continue;
            }
            if !is_ready(&stdout, PollFlags::OUT | CLOSED) {
                // Discard written bytes, so that the buffer stays bounded if the reader never
                // catches up.
                if self.written >= BATCH {
                    self.current.drain(..self.written);
                    self.written = 0;
                }
                return Ok(true);
            }
            let end = self.current.len().min(self.written + PIECE);
            match rustix::io::write(&stdout, &self.current[self.written..end]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Err(OutputClosed),
            }
        }
        self.written = 0;
        self.current.clear();
        Ok(false)
    }

    async fn writable(&mut self) -> Result<(), OutputClosed> {
        let stdout = match self.blocked.take() {
            Some(stdout) => stdout,
            None => register(&io::stdout(), Interest::WRITABLE).map_err(|_| OutputClosed)?,
        };
        let stdout = self.blocked.insert(stdout);
        loop {
            let mut ready = stdout.writable().await.map_err(|_| OutputClosed)?;
            if is_ready(stdout.get_ref(), PollFlags::OUT | CLOSED) {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    /// Waits until the reader has closed standard output.
    pub(crate) async fn closed(&self) {
        let Some(stdout) = &self.other_end else {
            return std::future::pending().await;
        };
        while let Ok(mut ready) = stdout.ready(CLOSING).await {
            if is_ready(stdout.get_ref(), CLOSED) {
                return;
            }
            ready.clear_ready();
        }
    }

    /// Writes everything that is left.
    pub(crate) async fn finish(mut self) -> Result<(), OutputClosed> {
        self.flush().await
    }
}
