//! What is found out about one extension.

use std::path::PathBuf;

use zot_host::extension::{LastKnown, PermissionReport};

use super::clock::Times;

/// How it fares, in a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Well,
    /// It works, but somebody should have a look.
    Look,
    Broken,
    /// It takes no part, as somebody wants it.
    Aside,
}

impl Verdict {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Well => "✓",
            Self::Look => "!",
            Self::Broken => "✗",
            Self::Aside => "–",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Look => "look",
            Self::Broken => "broken",
            Self::Aside => "aside",
        }
    }
}

/// One extension.
#[derive(Debug)]
pub(crate) struct Diagnosis {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) scope: String,
    pub(crate) dir: PathBuf,
    /// `ready`, `failed`, `late`, or why it was not started.
    pub(crate) state: &'static str,
    pub(crate) times: Times,
    /// What it has registered; `None` where it was not ready.
    pub(crate) registers: Option<LastKnown>,
    /// The names that others have: `command` or `tool`, the name, whose it is (`None`: zot's own).
    pub(crate) shadowed: Vec<(&'static str, String, Option<String>)>,
    pub(crate) permissions: Option<PermissionReport>,
    /// Whether its files are not those that were installed; `None` where nobody knows.
    pub(crate) changed: Option<bool>,
    pub(crate) log: PathBuf,
    /// Why it takes no part.
    pub(crate) aside: Option<String>,
    /// What keeps it from working.
    pub(crate) problems: Vec<Problem>,
    /// What somebody should have a look at.
    pub(crate) warnings: Vec<String>,
    /// The end of what it said before it failed.
    pub(crate) stderr: Vec<String>,
}

/// What keeps an extension from working.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) what: String,
    /// In its manifest: the file, and where in it, as a JSON pointer.
    pub(crate) place: Option<(PathBuf, Option<String>)>,
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// As an error says it: a reason, and maybe a hint on a line of its own.
    pub(crate) fn of(why: &str) -> Self {
        let (what, hint) = match why.split_once("\nhint: ") {
            Some((what, hint)) => (what, Some(hint.to_owned())),
            None => (why, None),
        };
        Self {
            what: what.to_owned(),
            place: None,
            hint,
        }
    }
}

impl Diagnosis {
    pub(crate) fn verdict(&self) -> Verdict {
        if !self.problems.is_empty() {
            Verdict::Broken
        } else if self.aside.is_some() {
            Verdict::Aside
        } else if !self.warnings.is_empty() {
            Verdict::Look
        } else {
            Verdict::Well
        }
    }
}
