//! The frames exchanged with one process.

use std::time::Duration;

/// Maximum number of bytes of a line to store for reports.
pub(crate) const SHOWN_BYTES: usize = 4096;

/// The sender of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// The harness, acting as the host.
    Host,
    /// The extension.
    Extension,
}

/// What happened in an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A line was written: its text, truncated to `SHOWN_BYTES`, and its full length in bytes.
    Line(String, usize),
    /// Something else happened: `closed stdin`, `exit status 0`, `SIGTERM`.
    Note(String),
}

/// One entry of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The time since the process was started.
    pub at: Duration,
    /// The sender.
    pub who: Party,
    /// What happened.
    pub action: Action,
}

/// The complete exchange with one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// The entries in order.
    pub entries: Vec<Entry>,
    /// The last part of stderr.
    pub stderr: String,
}
