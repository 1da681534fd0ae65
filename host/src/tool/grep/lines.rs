//! Collects the matching lines of one file.

use std::{
    fs::File,
    io::{self, Read},
};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::Search;

/// The maximum number of bytes of a line to show.
const LINE: usize = 300;
/// How many bytes of a long line to show before its match.
const BEFORE: usize = 100;

/// A file that is read until the search is over.
pub(super) struct Bounded<'s, 'c> {
    pub(super) file: File,
    pub(super) search: &'s mut Search<'c>,
}

impl Read for Bounded<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.search.is_over() {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

/// The matching lines of a file, and the lines around them.
pub(super) struct Lines<'m> {
    matcher: &'m RegexMatcher,
    /// How many matches may be shown.
    limit: u64,
    /// How many bytes may be shown.
    bytes: usize,
    pub(super) text: String,
    pub(super) matches: u64,
    pub(super) is_binary: bool,
    /// Whether there was no room for more lines.
    pub(super) is_cut: bool,
}

impl<'m> Lines<'m> {
    pub(super) fn new(matcher: &'m RegexMatcher, limit: u64, bytes: usize) -> Self {
        Self {
            matcher,
            limit,
            bytes,
            text: String::new(),
            matches: 0,
            is_binary: false,
            is_cut: false,
        }
    }

    /// Adds a line. Returns whether there is room for more.
    fn add(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = if line.len() > LINE {
            let found = self.matcher.find(line).ok().flatten();
            found.map_or(0, |found| found.start().saturating_sub(BEFORE))
        } else {
            0
        };
        // Do not split a character.
        let is_within = |at: usize| at < line.len() && line[at] & 0xc0 == 0x80;
        let at = (at.saturating_sub(3)..=at).rev().find(|at| !is_within(*at));
        let at = at.unwrap_or_default();
        let end = line.len().min(at + LINE);
        let end = (end..end + 3).find(|end| !is_within(*end)).unwrap_or(end);
        let shown = String::from_utf8_lossy(&line[at..end]);
        let (before, after) = (cut(at > 0), cut(end < line.len()));
        let number = number.unwrap_or_default();
        self.text
            .push_str(&format!("{number}{mark} {before}{shown}{after}\n"));
        self.is_cut = self.text.len() >= self.bytes;
        !self.is_cut
    }
}

fn cut(is_cut: bool) -> &'static str {
    if is_cut { "…" } else { "" }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // The result only counts the binary files that match, so one match is enough.
        if self.is_binary && self.matches > 0 || self.matches == self.limit {
            self.is_cut = true;
            return Ok(false);
        }
        self.matches += 1;
        Ok(self.add(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
