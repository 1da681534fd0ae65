//! The result of a run, and the formats to report it in.

mod frame;
mod github;
mod group;
mod html;
mod json;
mod junit;
mod paint;
mod pretty;
mod tap;
mod wording;
mod wrap;

use std::{
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;

pub use wrap::wrap;

use crate::verdict::{Level, Outcome, Verdict};

/// A finished run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The directory or command line that was tested, as the user gave it.
    pub target: String,
    /// The extension's name, from its manifest or `hello`.
    pub name: Option<String>,
    /// The profile: `quick`, `safe` or `full`.
    pub profile: &'static str,
    /// The seed for random arguments.
    pub seed: u64,
    /// The checks in the catalogue's order, then the transcripts.
    pub outcomes: Vec<Outcome>,
    /// The duration of the run.
    pub took: Duration,
    /// Whether a warning fails the run.
    pub strict: bool,
    /// The id of the check that failed, if the extension did not start or complete the handshake.
    pub unreachable: Option<String>,
    /// An internal error in the harness.
    pub fault: Option<String>,
    /// Entries of the baseline that no longer fail.
    pub stale: Vec<String>,
}

/// The count of each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rules that hold.
    pub pass: usize,
    /// Rules that are broken, not counting known failures.
    pub fail: usize,
    /// Failures that the baseline lists.
    pub known: usize,
    /// SHOULD rules that are broken.
    pub warn: usize,
    /// Rules that do not apply.
    pub not_applicable: usize,
    /// Checks that the profile excludes.
    pub withheld: usize,
    /// Checks that another failure blocks.
    pub blocked: usize,
    /// Checks that the harness could not exercise.
    pub not_exercised: usize,
}

/// The report formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For terminals, with detailed failures at the end.
    Pretty,
    /// One JSON document with all details.
    ///
    /// Field names are stable; later versions may add fields. Times are in milliseconds, with
    /// fractions. Absent values are omitted.
    ///
    /// ```jsonc
    /// {
    ///   "format": 1,
    ///   "zot_conform": "0.1.0",
    ///   "target": "./weather", "name": "weather", "profile": "safe", "strict": false,
    ///   "seed": "42",                              // a string, because it may exceed JavaScript's safe integers
    ///   "conforms": false, "took_ms": 3210.5,
    ///   "counts": {"pass": 61, "fail": 1, "known": 0, "warn": 2, "not_applicable": 7, "withheld": 5, "blocked": 0, "not_exercised": 0},
    ///   "outcomes": [{
    ///     "id": "TOL-02", "group": "Tools",
    ///     "level": "must",                         // "must", "should", "info"
    ///     "title": "content is a list of known blocks",
    ///     "verdict": "fail",                       // "pass", "fail", "warn", "not_applicable", "withheld", "blocked", "not_exercised"
    ///     "blocked_by": "HEL-01",                  // for "blocked"
    ///     "failure": true,                         // whether this outcome fails the run
    ///     "took_ms": 12.5,
    ///     "findings": [{
    ///       "what": "…", "frame": {"line": "{…}", "pointer": "/content/0/type"},
    ///       "hint": "…", "stderr": "…", "input": "…", "repeat": "…"
    ///     }],
    ///     "exchanges": [{
    ///       "entries": [
    ///         {"at_ms": 0.4, "who": "extension", "line": "{…}", "bytes": 57},  // "who": "host", "extension"
    ///         {"at_ms": 9.1, "who": "host", "note": "closed stdin"}
    ///       ],
    ///       "stderr": "…"
    ///     }]
    ///   }]
    /// }
    /// ```
    ///
    /// If `line` is truncated, `bytes` is its full length. Control characters are written as JSON
    /// escapes.
    Json,
    /// `JUnit` XML for CI servers, with one suite per group.
    Junit,
    /// The Test Anything Protocol, version 14.
    Tap,
    /// GitHub workflow commands, shown as annotations.
    Github,
    /// A self-contained HTML page.
    Html,
}

impl Form {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::Pretty,
        Self::Json,
        Self::Junit,
        Self::Tap,
        Self::Github,
        Self::Html,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Github => "github",
            Self::Html => "html",
        }
    }

    /// Finds a format by name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Display options for [`Form::Pretty`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colour.
    pub colour: bool,
    /// The width in columns.
    pub width: usize,
}

impl Default for Look {
    /// The display options for a file or a pipe.
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
        }
    }
}

impl Report {
    /// Writes the report in one of the formats.
    pub fn write(&self, form: Form, out: &mut impl Write, look: Look) -> io::Result<()> {
        match form {
            Form::Pretty => pretty::write(self, out, look),
            Form::Json => json::write(self, out),
            Form::Junit => junit::write(self, out),
            Form::Tap => tap::write(self, out),
            Form::Github => github::write(self, out),
            Form::Html => html::write(self, out),
        }
    }

    /// Whether the extension conforms; false if no check was run.
    pub fn conforms(&self) -> bool {
        matches!(self.exit(), Exit::Conforms | Exit::Stale)
    }

    /// The count of each verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.outcomes)
    }
}

impl Counts {
    /// Counts the verdicts of these outcomes.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            *match outcome.verdict {
                _ if outcome.known => &mut counts.known,
                Verdict::Pass => &mut counts.pass,
                Verdict::Fail => &mut counts.fail,
                Verdict::Warn => &mut counts.warn,
                Verdict::NotApplicable => &mut counts.not_applicable,
                Verdict::Withheld => &mut counts.withheld,
                Verdict::BlockedBy(_) => &mut counts.blocked,
                Verdict::NotExercised => &mut counts.not_exercised,
            } += 1;
        }
        counts
    }
}

/// The exit code of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The extension conforms.
    Conforms = 0,
    /// The extension does not conform.
    Fails = 1,
    /// No check was run.
    Nothing = 2,
    /// The extension did not start or complete the handshake.
    Unreachable = 3,
    /// Internal error in the harness.
    Harness = 4,
    /// The baseline lists checks that now pass.
    Stale = 5,
}

impl Report {
    /// The exit code of this run.
    pub fn exit(&self) -> Exit {
        let Counts {
            pass,
            fail,
            known,
            warn,
            not_exercised,
            ..
        } = self.counts();
        if self.fault.is_some() {
            Exit::Harness
        } else if self.unreachable.is_some() {
            Exit::Unreachable
        } else if self.outcomes.iter().any(|it| it.is_failure(self.strict)) {
            Exit::Fails
        } else if pass + fail + known + warn + not_exercised == 0 {
            Exit::Nothing
        } else if !self.stale.is_empty() {
            Exit::Stale
        } else {
            Exit::Conforms
        }
    }
}

impl Outcome {
    /// Whether this outcome fails the run.
    pub fn is_failure(&self, strict: bool) -> bool {
        match self.verdict {
            _ if self.known => false,
            Verdict::Fail => true,
            Verdict::NotExercised => self.level == Level::Must || strict,
            Verdict::Warn => strict,
            _ => false,
        }
    }
}
