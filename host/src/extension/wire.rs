//! Splits the bytes from an extension into lines, with a size limit. Does not know about frames.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The read size for extensions that send a lot of data: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;
/// The initial read size, which is enough for most extensions.
const SMALL_CHUNK: usize = 2 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line, without its newline or a carriage return before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'r> {
    /// The bytes of a line; never blank.
    Bytes(&'r [u8]),
    /// A line over the limit. Returned as soon as the limit is exceeded; the rest of the line is
    /// skipped.
    TooLong,
}

/// Reads lines of limited length.
///
/// Blank lines, a carriage return before a newline and a byte order mark at the start are dropped.
/// Bytes after the last newline also count as a line.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    limit: usize,
    /// The current read size.
    chunk: usize,
    /// The bytes that have been read. `fill` drops the lines that have been returned.
    buffer: Vec<u8>,
    /// How many bytes of the buffer belong to lines that were returned.
    consumed: usize,
    /// How many bytes after `consumed` are known to contain no newline.
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

    /// Returns the next line, or `None` at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            match self.take() {
                Some(span) => return Ok(Some(self.line(span))),
                None if self.ended => return Ok(None),
                None => self.fill().await?,
            }
        }
    }

    /// Returns the next line that is already in the buffer, or `None` if more must be read first.
    pub fn buffered(&mut self) -> Option<Line<'_>> {
        self.take().map(|span| self.line(span))
    }

    /// Reports whether the buffer contains bytes after the last returned line.
    pub fn has_more(&self) -> bool {
        self.consumed < self.buffer.len()
    }

    /// Reports whether the stream has ended. There may still be [`buffered`](Self::buffered) lines.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads once. Afterwards there may be no new line, or several.
    ///
    /// Cancel safe: the only await point either adds bytes to the buffer or does not.
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

    fn line(&self, span: LineSpan) -> Line<'_> {
        match span {
            LineSpan::Bytes { start, end } => Line::Bytes(&self.buffer[start..end]),
            LineSpan::TooLong => Line::TooLong,
        }
    }

    /// Takes the next complete line out of the buffer.
    fn take(&mut self) -> Option<LineSpan> {
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
            if let Some(span) = self.trimmed(start, end) {
                return Some(span);
            }
        }
    }

    /// Handles an incomplete line: reports it once if it is over the limit, and drops the rest of a
    /// line that is being skipped.
    fn overflowing(&mut self, length: usize) -> Option<LineSpan> {
        // A carriage return at the end and a byte order mark at the start do not count.
        let ignored = 1 + if self.at_start {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let too_long = length > self.limit + ignored;
        if self.skipping || too_long {
            self.consumed = self.buffer.len();
            self.scanned = 0;
        }
        let first_seen = too_long && !self.skipping;
        self.skipping |= too_long;
        first_seen.then_some(LineSpan::TooLong)
    }

    fn trimmed(&mut self, mut start: usize, mut end: usize) -> Option<LineSpan> {
        if std::mem::take(&mut self.at_start)
            && self.buffer[start..end].starts_with(BYTE_ORDER_MARK)
        {
            start += BYTE_ORDER_MARK.len();
        }
        if self.buffer[start..end].ends_with(b"\r") {
            end -= 1;
        }
        if end - start > self.limit {
            return Some(LineSpan::TooLong);
        }
        let blank = self.buffer[start..end].trim_ascii().is_empty();
        (!blank).then_some(LineSpan::Bytes { start, end })
    }
}

/// The position of a line in the buffer.
#[derive(Clone, Copy)]
enum LineSpan {
    Bytes { start: usize, end: usize },
    TooLong,
}
