//! A sign on the terminal that something goes on, for what takes longer than a moment.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::output::Style;

/// What takes less is not worth a line.
const PATIENCE: Duration = Duration::from_millis(500);
/// So that it fits on a line.
const LONGEST: usize = 70;

/// A line that is written over and goes in the end. Without a terminal there is none.
#[derive(Debug)]
pub(crate) struct Waiting {
    start: Instant,
    is_terminal: bool,
    shown: bool,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            shown: false,
        }
    }

    /// What goes on, in a few words.
    pub(crate) fn say(&mut self, what: &str) {
        let waited = self.start.elapsed();
        if !self.is_terminal || waited < PATIENCE {
            return;
        }
        self.shown = true;
        let what: String = what.chars().take(LONGEST).collect();
        let text = Style::of_stderr().muted(format_args!("… {what} ({} s)", waited.as_secs()));
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }

    /// Takes it away, for something else to be said.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}
