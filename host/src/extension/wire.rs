//! Lines of bytes from an extension. Knows newlines and a size limit, and no frame.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once from one who says much: as much as a pipe holds.
const CHUNK: usize = 64 * 1024;
/// How much from one who has not done so yet. Most never do.
const SMALL_CHUNK: usize = 2 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line, without its newline and a carriage return before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'r> {
    /// Bytes that may be a frame; never blank.
    Bytes(&'r [u8]),
    /// A line that passed the limit. It is told as soon as that is known; the rest of it is skipped unseen.
    TooLong,
}

/// Reads lines with a bound on their length.
///
/// Tolerated and dropped: blank lines, a carriage return before the newline, a byte order mark at the very start. What
/// stands before the end of the stream without a newline is a line as well.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    limit: usize,
    /// How much is read at once.
    chunk: usize,
    /// What has been read. The line that was returned last is dropped from it by the next call.
    buffer: Vec<u8>,
    /// How much of the buffer belongs to lines that have been returned.
    consumed: usize,
    /// How much of the buffer is known to hold no newline.
    scanned: usize,
    skipping: bool,
    at_start: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes from `reader`.
    pub fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            chunk: SMALL_CHUNK,
            buffer: Vec::new(),
            consumed: 0,
            scanned: 0,
            skipping: false,
            at_start: true,
            ended: false,
        }
    }

    /// The next line; `None` at the end of the stream. May be cancelled.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            match self.take() {
                Some(taken) => return Ok(Some(self.line(taken))),
                None if self.ended => return Ok(None),
                None => self.fill().await?,
            }
        }
    }

    /// The next line that has been read already; `None` when more must be read to know one.
    pub fn buffered(&mut self) -> Option<Line<'_>> {
        self.take().map(|taken| self.line(taken))
    }

    /// Whether more has been read than was returned: a line, or a part of one.
    pub fn has_more(&self) -> bool {
        self.consumed < self.buffer.len()
    }

    /// Whether the stream has ended; lines may still be [`buffered`](Self::buffered).
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads once, whatever comes of it: perhaps no line, perhaps many.
    ///
    /// May be cancelled: all that has been read is in `self`, and the one place that waits adds to it or does not.
    pub async fn fill(&mut self) -> io::Result<()> {
        self.make_room();
        let count = self.reader.read_buf(&mut self.buffer).await?;
        self.ended |= count == 0;
        if self.buffer.len() == self.buffer.capacity() {
            self.chunk = CHUNK;
        }
        Ok(())
    }

    fn make_room(&mut self) {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        if self.buffer.len() <= CHUNK && self.buffer.capacity() > 4 * CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
        self.buffer.reserve(self.chunk);
    }

    fn line(&self, taken: Taken) -> Line<'_> {
        match taken {
            Taken::Bytes { start, end } => Line::Bytes(&self.buffer[start..end]),
            Taken::TooLong => Line::TooLong,
        }
    }

    /// The next line in the buffer, if a whole one is there. After `consumed` comes what is still to be looked at.
    fn take(&mut self) -> Option<Taken> {
        loop {
            let rest = &self.buffer[self.consumed..];
            let newline = memchr(b'\n', &rest[self.scanned..]).map(|at| self.scanned + at);
            let Some(length) = newline.or((self.ended && !rest.is_empty()).then_some(rest.len()))
            else {
                self.scanned = rest.len();
                return self.overflowing(rest.len());
            };
            let start = self.consumed;
            let end = start + length;
            self.consumed = (end + 1).min(self.buffer.len());
            self.scanned = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if let Some(taken) = self.trimmed(start, end) {
                return Some(taken);
            }
        }
    }

    /// A line without an end yet: too long already, or the rest of one that was.
    fn overflowing(&mut self, length: usize) -> Option<Taken> {
        // A carriage return at its end and a byte order mark at its start do not count.
        let frills = 1 + if self.at_start {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let too_long = length > self.limit + frills;
        if self.skipping || too_long {
            self.consumed = self.buffer.len();
            self.scanned = 0;
        }
        let first_seen = too_long && !self.skipping;
        self.skipping |= too_long;
        first_seen.then_some(Taken::TooLong)
    }

    fn trimmed(&mut self, mut start: usize, mut end: usize) -> Option<Taken> {
        if std::mem::take(&mut self.at_start)
            && self.buffer[start..end].starts_with(BYTE_ORDER_MARK)
        {
            start += BYTE_ORDER_MARK.len();
        }
        if self.buffer[start..end].ends_with(b"\r") {
            end -= 1;
        }
        if end - start > self.limit {
            return Some(Taken::TooLong);
        }
        let blank = self.buffer[start..end].trim_ascii().is_empty();
        (!blank).then_some(Taken::Bytes { start, end })
    }
}

/// A line by its place in the buffer.
#[derive(Clone, Copy)]
enum Taken {
    Bytes { start: usize, end: usize },
    TooLong,
}
