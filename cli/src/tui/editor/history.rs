//! What was written before: in memory, and in a file that all sessions share.

use std::{io, path::Path};

/// The prompts of before, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
}

impl History {
    /// Reads the file; one that is not there is an empty history.
    pub(crate) fn load(_path: &Path) -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Adds what was submitted since the last time to the file.
    pub(crate) fn store(&mut self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Adds an entry.
    pub(crate) fn push(&mut self, entry: &str) {
        self.entries.push(entry.to_owned());
    }
}
