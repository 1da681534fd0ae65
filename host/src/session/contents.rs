//! Parses the bytes of a session file line by line. Does not access the disk.

use std::ops::Range;

use memchr::memchr;

use super::line::{Head, Line, parse};

/// The parsed contents of a session file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) head: Option<Head>,
    /// Whether the head is the first line.
    pub(super) head_is_first: bool,
    /// The format version of the head, if it is too new.
    pub(super) newer: Option<u32>,
    /// The readable lines after the head, in order, with their positions.
    pub(super) lines: Vec<(Range<usize>, Line)>,
    /// The number of lines from a newer version.
    pub(super) unknown: usize,
    /// The number of unreadable lines that have readable ones after them.
    pub(super) damaged: usize,
    /// The end of the last readable line.
    pub(super) whole: usize,
    /// Whether unreadable data follows the last readable line.
    pub(super) torn: bool,
    /// Whether the last readable line has no newline.
    pub(super) open_end: bool,
}

impl Contents {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        let (mut start, mut broken) = (0, 0);
        while start < bytes.len() {
            let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at + 1);
            let line = &bytes[start..end];
            if line.iter().all(u8::is_ascii_whitespace) {
                // Blank lines are not damage. At the end of a file, `repair` removes them.
            } else if let Some(parsed) = parse(line) {
                contents.damaged += std::mem::take(&mut broken);
                contents.whole = end;
                contents.open_end = !line.ends_with(b"\n");
                contents.take(start..end, parsed);
            } else {
                broken += 1;
            }
            start = end;
        }
        contents.torn = broken > 0;
        contents
    }

    fn take(&mut self, place: Range<usize>, line: Line) {
        match line {
            Line::NewerHead(version) if self.newer.is_none() && self.head.is_none() => {
                self.newer = Some(version);
            }
            Line::Head(head) if self.head.is_none() => {
                self.head_is_first = self.lines.is_empty() && self.damaged == 0;
                self.head = Some(head);
            }
            line => {
                // A second head, as in two concatenated files, counts as unknown.
                if matches!(line, Line::Unknown | Line::Head(_) | Line::NewerHead(_)) {
                    self.unknown += 1;
                }
                self.lines.push((place, line));
            }
        }
    }

    /// Reports whether any line belongs to a session.
    pub(super) fn is_session(&self) -> bool {
        let known = |line: &Line| !matches!(line, Line::Unknown);
        self.head.is_some() || self.lines.iter().any(|(_, line)| known(line))
    }

    /// Reports whether the file must be rewritten before appending: a line in the middle is
    /// damaged, or the head is not first.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged > 0 || !self.head_is_first
    }

    /// Returns the byte offset after this many messages, or `None` if there are fewer.
    pub(super) fn after(&self, messages: u64) -> Option<usize> {
        let mut count = 0;
        let mut place = 0;
        for (range, line) in &self.lines {
            if matches!(line, Line::Message(_)) {
                if count == messages {
                    return Some(place);
                }
                count += 1;
            }
            place = range.end;
        }
        (count == messages).then_some(place)
    }

    pub(super) fn count(&self) -> u64 {
        let messages = self.lines.iter();
        messages
            .filter(|(_, line)| matches!(line, Line::Message(_)))
            .count() as u64
    }
}
