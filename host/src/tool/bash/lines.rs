//! Turns output into progress lines, at a limited rate.

use std::time::{Duration, Instant};

use super::super::args::count;

/// The maximum length of a line in bytes.
const LINE: usize = 2000;
/// The maximum number of lines per [`SPAN`]. Further lines are only counted.
const LINES: u64 = 100;
const SPAN: Duration = Duration::from_millis(100);

pub(super) struct Lines<P> {
    progress: P,
    begun: Vec<u8>,
    span: Instant,
    in_span: u64,
    held_back: u64,
}

impl<P: FnMut(String)> Lines<P> {
    pub(super) fn new(progress: P) -> Self {
        Self {
            progress,
            begun: Vec::new(),
            span: Instant::now(),
            in_span: 0,
            held_back: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) {
        let mut left = bytes;
        while let Some(end) = memchr::memchr(b'\n', left) {
            self.add(&left[..end]);
            left = &left[end + 1..];
            self.line(now);
        }
        self.add(left);
    }

    /// Sends an unterminated last line, and the number of lines that were not shown.
    pub(super) fn finish(&mut self) {
        if !self.begun.is_empty() {
            self.line(Instant::now());
        }
        self.report_skipped();
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LINE.saturating_sub(self.begun.len()).min(bytes.len());
        self.begun.extend_from_slice(&bytes[..room]);
    }

    fn line(&mut self, now: Instant) {
        if now.saturating_duration_since(self.span) >= SPAN {
            self.report_skipped();
            self.span = now;
            self.in_span = 0;
        }
        if self.in_span < LINES {
            let line = String::from_utf8_lossy(&self.begun);
            (self.progress)(line.trim_end_matches('\r').to_owned());
            self.in_span += 1;
        } else {
            self.held_back += 1;
        }
        self.begun.clear();
    }

    fn report_skipped(&mut self) {
        if self.held_back > 0 {
            (self.progress)(format!("[… {} not shown]", count(self.held_back, "line")));
            self.held_back = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_for_any_chunking() {
        let mut seen = Vec::new();
        let mut lines = Lines::new(|line| seen.push(line));
        for piece in ["on", "e\r\ntwo\n", "", "thr", "ee"] {
            lines.push(piece.as_bytes(), Instant::now());
        }
        lines.finish();
        assert_eq!(seen, ["one", "two", "three"]);
    }

    #[test]
    fn lines_over_the_limit_are_counted() {
        let mut seen = Vec::new();
        let mut lines = Lines::new(|line| seen.push(line));
        let now = Instant::now();
        lines.push("y\n".repeat(1000).as_bytes(), now);
        lines.push(b"later\n", now + SPAN);
        lines.finish();
        assert_eq!(seen.len(), 102);
        assert_eq!(&seen[100..], ["[… 900 lines not shown]", "later"]);
    }
}
