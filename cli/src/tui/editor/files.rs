//! The files that `@` offers.

use std::{ops::Range, path::Path};

/// An `@…` in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its place, the `@` included.
    pub(crate) range: Range<usize>,
    /// What is behind the `@`.
    pub(crate) query: String,
}

/// The files of a project, looked for in the background.
#[derive(Debug)]
pub(crate) struct Files;

/// One of them that fits a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    /// Relative to the project; a directory ends with `/`. Holds no control character.
    pub(crate) path: String,
    /// The characters (not bytes) of it that the query named.
    pub(crate) hits: Vec<u32>,
}

impl Files {
    /// Begins to look below a directory. Dropping it ends the search.
    pub(crate) fn of(_root: &Path) -> Self {
        Self
    }

    /// Looks again: files come and go. What was found stays until then.
    pub(crate) fn refresh(&mut self) {}

    /// Whether it is still looking, so that a later call may find more.
    pub(crate) fn is_looking(&self) -> bool {
        false
    }

    /// The best, best first.
    pub(crate) fn find(&mut self, _query: &str, _most: usize) -> Vec<Match> {
        Vec::new()
    }
}
