//! Lines of JSON to standard output. A reader that stops reading holds up whoever tells, and nothing else.

mod large;

use std::{collections::VecDeque, io, os::fd::OwnedFd};

use rustix::{event::PollFlags, io::Errno};
use serde::Serialize;
use tokio::io::{Interest, unix::AsyncFd};

use crate::clean;

use super::descriptor::{CLOSED, has, watched, write_at_once};
use large::{Bounded, Large};

/// Lines that come at once go out together, up to so many bytes.
const BATCH: usize = 64 * 1024;
/// A line of more bytes is large.
const LARGE: usize = 256 * 1024;
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
    /// What goes out now, and how much of it has.
    told: Vec<u8>,
    written: usize,
    /// What goes out after that.
    behind: VecDeque<Part>,
    /// While standard output takes nothing more.
    blocked: Option<AsyncFd<OwnedFd>>,
    /// Woken when the other end closes, and not by what it reads; `None`: a file, which has no other end.
    other_end: Option<AsyncFd<OwnedFd>>,
}

/// Lines, or one that is large.
#[derive(Debug)]
enum Part {
    Lines(Vec<u8>),
    Large(Large),
}

impl Outlet {
    /// Must be called within a tokio runtime.
    pub(crate) fn new() -> Self {
        Self {
            told: Vec::new(),
            written: 0,
            behind: VecDeque::new(),
            blocked: None,
            other_end: watched(&io::stdout(), CLOSING).ok(),
        }
    }

    /// Adds a line to what is to be written.
    pub(crate) fn put(&mut self, line: impl Serialize + Send + 'static) {
        let to = self.end();
        let start = to.len();
        let bounded = Bounded { to, left: LARGE };
        if clean::write_json(bounded, &line).is_ok() {
            self.end().push(b'\n');
            return;
        }
        self.end().truncate(start);
        self.behind.push_back(Part::Large(Large::new(line)));
    }

    /// Where lines are added.
    fn end(&mut self) -> &mut Vec<u8> {
        match self.behind.back() {
            None => return &mut self.told,
            Some(Part::Lines(_)) => {}
            Some(Part::Large(_)) => self.behind.push_back(Part::Lines(Vec::new())),
        }
        match self.behind.back_mut() {
            Some(Part::Lines(lines)) => lines,
            _ => unreachable!("pushed above"),
        }
    }

    /// How many bytes wait to be written; more, where a line is large.
    pub(crate) fn waiting(&self) -> usize {
        let behind = self.behind.iter().map(|part| match part {
            Part::Lines(lines) => lines.len(),
            Part::Large(_) => LARGE,
        });
        self.told.len() - self.written + behind.sum::<usize>()
    }

    /// Whether whoever has much to tell should wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting() >= BATCH
    }

    /// Tells a line. It goes out with the next [`flush`](Self::flush), or when there are many.
    pub(crate) async fn tell(&mut self, line: impl Serialize + Send + 'static) -> Result<(), Gone> {
        self.put(line);
        if self.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes what was told. May be cancelled.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        loop {
            while self.write()? {
                self.writable().await?;
            }
            match self.behind.front_mut() {
                None => break,
                Some(Part::Lines(lines)) => {
                    self.told = std::mem::take(lines);
                    self.behind.pop_front();
                }
                Some(Part::Large(large)) => match large.next().await {
                    Some(piece) => self.told = piece,
                    None => drop(self.behind.pop_front()),
                },
            }
        }
        self.blocked = None;
        Ok(())
    }

    /// Writes what goes out at once, and leaves the rest to [`work`](Self::work).
    pub(crate) fn write_now(&mut self) -> Result<(), Gone> {
        if self.blocked.is_none() {
            self.write()?;
        }
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
        while self.written < self.told.len() {
            if let Some(count) = write_at_once(&stdout, &self.told[self.written..]) {
                self.written += count;
                continue;
            }
            if !has(&stdout, PollFlags::OUT | CLOSED) {
                // A reader that is always a little behind must not make this grow for ever.
                if self.written >= BATCH {
                    self.told.drain(..self.written);
                    self.written = 0;
                }
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
