//! A position in a log, to read later what was added after it.

use std::path::Path;

use super::{follow::Follower, last::last};

/// The end of a log at some point in time.
#[derive(Debug)]
pub(crate) struct Mark(Follower);

impl Mark {
    /// Marks the current end of the log. Treats an unreadable log as empty.
    pub(crate) fn of(path: &Path) -> Self {
        let end = last(path, 0).ok().flatten();
        Self(end.map_or_else(|| Follower::from_start(path), |(_, follower)| follower))
    }

    /// The lines written since.
    pub(crate) fn since(mut self) -> Vec<String> {
        let text = self.0.more().unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .map(ToOwned::to_owned)
            .collect()
    }
}
