//! The diagnosis of one extension.

use std::path::PathBuf;

use zot_host::extension::{LastKnown, PermissionReport};

use super::clock::Times;

/// The overall result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Healthy,
    /// The extension works, but there are warnings.
    Warning,
    Broken,
    /// The extension was deliberately not started, for example because it is disabled.
    NotStarted,
}

impl Verdict {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Healthy => "✓",
            Self::Warning => "!",
            Self::Broken => "✗",
            Self::NotStarted => "–",
        }
    }

    /// Returns the value for the JSON output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Healthy => "well",
            Self::Warning => "look",
            Self::Broken => "broken",
            Self::NotStarted => "aside",
        }
    }
}

/// The diagnosis of one extension.
#[derive(Debug)]
pub(crate) struct Diagnosis {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) scope: String,
    pub(crate) dir: PathBuf,
    /// `ready`, `failed` or `late`; for an extension that was not started, its load state, such as
    /// `disabled`.
    pub(crate) state: &'static str,
    pub(crate) times: Times,
    /// What the extension registered; `None` if it did not become ready.
    pub(crate) registers: Option<LastKnown>,
    /// Names that are already taken: `command` or `tool`, the name, and its owner (`None` for zot).
    pub(crate) shadowed: Vec<(&'static str, String, Option<String>)>,
    pub(crate) permissions: Option<PermissionReport>,
    /// Whether the extension's files differ from what was installed; `None` if unknown.
    pub(crate) changed: Option<bool>,
    pub(crate) log: PathBuf,
    /// Why the extension was not started.
    pub(crate) aside: Option<String>,
    /// The reasons why the extension does not work.
    pub(crate) problems: Vec<Problem>,
    /// Problems that do not stop the extension from working.
    pub(crate) warnings: Vec<String>,
    /// The end of the extension's standard error, if it failed.
    pub(crate) stderr: Vec<String>,
}

/// A reason why an extension does not work.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) what: String,
    /// The manifest file, and the JSON pointer of the invalid value.
    pub(crate) place: Option<(PathBuf, Option<String>)>,
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// Splits an error message into its reason and its hint.
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
            Verdict::NotStarted
        } else if !self.warnings.is_empty() {
            Verdict::Warning
        } else {
            Verdict::Healthy
        }
    }
}
