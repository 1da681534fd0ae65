//! Reads a range of lines from text of any size, in bounded memory.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

/// The range and limits of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The first line, from 1.
    pub(super) offset: u64,
    pub(super) lines: u64,
    pub(super) bytes: usize,
    /// The maximum number of bytes of one line.
    pub(super) line: usize,
}

/// The lines that were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// The lines with their numbers.
    pub(super) text: String,
    /// The number of lines in `text`.
    pub(super) shown: u64,
    /// The truncated lines, by number and length in bytes.
    pub(super) cut: Vec<(u64, u64)>,
    /// Whether the file continues after the last line.
    pub(super) more: bool,
    /// The number of lines in the file, if its end was reached.
    pub(super) total: Option<u64>,
    /// Whether the last line has no newline. Only known at the end of the file.
    pub(super) unterminated: bool,
    pub(super) crlf: bool,
    pub(super) lossy: bool,
}

/// A line that is being read.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    length: u64,
}

impl Window {
    /// Reads until the window is full. Stops when `go_on` returns false.
    pub(super) fn read(
        mut from: impl Read,
        bounds: Bounds,
        go_on: impl Fn() -> bool,
    ) -> io::Result<Self> {
        let mut window = Self::default();
        let mut buffer = vec![0; 64 << 10];
        let mut number = 1;
        let mut line = Line::default();
        loop {
            if !go_on() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let size = match from.read(&mut buffer) {
                Ok(size) => size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if size == 0 {
                break;
            }
            let mut left = &buffer[..size];
            if number < bounds.offset {
                left = skip(left, &mut number, bounds.offset, &mut line);
            }
            while !left.is_empty() {
                if number >= bounds.offset && window.is_full(bounds) {
                    window.more = true;
                    return Ok(window);
                }
                match memchr(b'\n', left) {
                    Some(end) => {
                        line.push(&left[..end], bounds.line);
                        window.add(number, &line, bounds);
                        line = Line::default();
                        number += 1;
                        left = &left[end + 1..];
                    }
                    None => {
                        line.push(left, bounds.line);
                        left = &[];
                    }
                }
            }
        }
        if line.length > 0 {
            window.unterminated = true;
            if number >= bounds.offset {
                if window.is_full(bounds) {
                    window.more = true;
                    return Ok(window);
                }
                window.add(number, &line, bounds);
            }
            number += 1;
        }
        window.total = Some(number - 1);
        Ok(window)
    }

    fn is_full(&self, bounds: Bounds) -> bool {
        self.shown >= bounds.lines || self.text.len() >= bounds.bytes
    }

    fn add(&mut self, number: u64, line: &Line, bounds: Bounds) {
        let text = String::from_utf8_lossy(whole(&line.kept, line.length));
        self.lossy |= matches!(text, std::borrow::Cow::Owned(_));
        self.crlf |= text.ends_with('\r');
        self.text.push_str(&format!("{number:>6}\t{text}"));
        if line.length > bounds.line as u64 {
            self.text.push_str(" […]");
            self.cut.push((number, line.length));
        }
        self.text.push('\n');
        self.shown += 1;
    }
}

/// Removes an incomplete character at the end of a truncated line.
fn whole(kept: &[u8], length: u64) -> &[u8] {
    if (kept.len() as u64) == length {
        return kept;
    }
    let is_start = |byte: &u8| (byte & 0xc0) != 0x80;
    let last = kept.iter().rposition(is_start).unwrap_or(0);
    match std::str::from_utf8(&kept[last..]) {
        Err(error) if error.error_len().is_none() => &kept[..last],
        _ => kept,
    }
}

impl Line {
    fn push(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.length += bytes.len() as u64;
    }
}

/// Skips lines up to `offset`. Returns the remaining bytes.
fn skip<'b>(bytes: &'b [u8], number: &mut u64, offset: u64, line: &mut Line) -> &'b [u8] {
    for end in memchr_iter(b'\n', bytes) {
        *number += 1;
        line.length = 0;
        if *number == offset {
            return &bytes[end + 1..];
        }
    }
    // The exact length of a skipped line does not matter, only whether it is zero.
    line.length += match memrchr(b'\n', bytes) {
        Some(end) => (bytes.len() - end - 1) as u64,
        None => bytes.len() as u64,
    };
    &[]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Bounds = Bounds {
        offset: 1,
        lines: 1000,
        bytes: 100_000,
        line: 1000,
    };

    /// A reader that returns at most this many bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(self.0.len()).min(buffer.len());
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn window(bytes: &[u8], bounds: Bounds) -> Window {
        Window::read(bytes, bounds, || true).unwrap()
    }

    #[test]
    fn a_long_line_is_truncated_between_characters() {
        let bounds = Bounds { line: 4, ..ALL };
        let window = window("aäöü\nb\n".as_bytes(), bounds);
        assert_eq!(window.text, "     1\taä […]\n     2\tb\n");
        assert_eq!(window.cut, [(1, 7)]);
        assert!(!window.lossy);
    }

    proptest! {
        #[test]
        fn any_range_and_any_chunking_match_a_simple_split(
            text in "[ab\n\r]{0,40}",
            piece in 1usize..7,
            offset in 1u64..12,
            lines in 1u64..5,
        ) {
            let bounds = Bounds { offset, lines, ..ALL };
            let got = Window::read(Slow(text.as_bytes(), piece), bounds, || true).unwrap();
            prop_assert_eq!(&got, &window(text.as_bytes(), bounds));
            let all: Vec<&str> = text.split_terminator('\n').collect();
            let first = usize::try_from(offset - 1).unwrap();
            let expected: Vec<String> = (first..all.len())
                .take(usize::try_from(lines).unwrap())
                .map(|index| format!("{:>6}\t{}\n", index + 1, all[index]))
                .collect();
            prop_assert_eq!(&got.text, &expected.concat());
            let more = all.len() as u64 > offset - 1 + lines;
            prop_assert_eq!(got.more, more);
            if !more {
                prop_assert_eq!(got.total, Some(all.len() as u64));
                prop_assert_eq!(got.unterminated, !text.is_empty() && !text.ends_with('\n'));
            }
        }
    }
}
