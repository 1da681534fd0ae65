//! What went over the wire between the harness and one process.

use std::time::Duration;

/// How much of a line is kept for showing.
pub const SHOWN_BYTES: usize = 4096;

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// The harness, which plays the host.
    Host,
    /// The extension.
    Extension,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A line was written: its text, cut after [`SHOWN_BYTES`], and its whole length in bytes.
    Line(String, usize),
    /// Something else happened: `closed stdin`, `exit status 0`, `SIGTERM`.
    Note(String),
}

/// One moment of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Since the process was started.
    pub at: Duration,
    /// Who.
    pub who: Party,
    /// What.
    pub action: Action,
}

/// All that happened with one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// In the order in which it happened.
    pub entries: Vec<Entry>,
    /// The end of what it wrote to its standard error.
    pub stderr: String,
}
