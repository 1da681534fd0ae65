//! A place in a log, to see later what came after it.

use std::path::Path;

use super::{follow::Follower, last::last};

/// The end of a log as it was.
#[derive(Debug)]
pub(crate) struct Mark(Follower);

impl Mark {
    /// The end of the log now. A log that cannot be read is as good as none: this is beside the point of who asks.
    pub(crate) fn of(path: &Path) -> Self {
        let end = last(path, 0).ok().flatten();
        Self(end.map_or_else(|| Follower::from_start(path), |(_, follower)| follower))
    }

    /// The lines that were written since.
    pub(crate) fn since(mut self) -> Vec<String> {
        let text = self.0.more().unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .map(ToOwned::to_owned)
            .collect()
    }
}
