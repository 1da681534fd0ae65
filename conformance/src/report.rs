//! All that a run has found, and the forms in which it is told.

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

use crate::verdict::{Level, Outcome, Verdict};

/// A finished run.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was tested: a directory or a command line, as the user gave it.
    pub target: String,
    /// The extension's name, where its manifest or its `hello` told it.
    pub name: Option<String>,
    /// The profile: `quick`, `safe` or `full`.
    pub profile: &'static str,
    /// What random arguments were made from.
    pub seed: u64,
    /// The checks in the catalogue's order, then the transcripts.
    pub outcomes: Vec<Outcome>,
    /// How long it all took.
    pub took: Duration,
    /// Whether a warning fails the run.
    pub strict: bool,
    /// The check whose failure left nothing to try: it could not be started, or did not shake hands.
    pub unreachable: Option<String>,
    /// What went wrong in the harness itself.
    pub fault: Option<String>,
    /// What the baseline names and does not fail any more.
    pub stale: Vec<String>,
}

/// How often each verdict was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rules that hold.
    pub pass: usize,
    /// Rules that are broken.
    pub fail: usize,
    /// Rules that should hold and do not.
    pub warn: usize,
    /// Rules that cannot apply.
    pub not_applicable: usize,
    /// What the profile does not try.
    pub withheld: usize,
    /// What another failure made unreachable.
    pub blocked: usize,
    /// What the harness could not reach.
    pub not_exercised: usize,
}

/// The forms in which a report is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For a person at a terminal: what fails comes last, in full.
    Pretty,
    /// One document with all there is.
    ///
    /// The names of the fields are stable; there may be more of them in a later version. Times are in milliseconds, with
    /// fractions. What is absent is left out.
    ///
    /// ```jsonc
    /// {
    ///   "format": 1,
    ///   "zot_conform": "0.1.0",
    ///   "target": "./weather", "name": "weather", "profile": "safe", "strict": false,
    ///   "seed": "42",                              // a text: it may be larger than a JavaScript number is exact
    ///   "conforms": false, "took_ms": 3210.5,
    ///   "counts": {"pass": 61, "fail": 1, "warn": 2, "not_applicable": 7, "withheld": 5, "blocked": 0, "not_exercised": 0},
    ///   "outcomes": [{
    ///     "id": "TOL-02", "group": "Tools",
    ///     "level": "must",                         // "must", "should", "info"
    ///     "title": "content is a list of known blocks",
    ///     "verdict": "fail",                       // "pass", "fail", "warn", "not_applicable", "withheld", "blocked", "not_exercised"
    ///     "blocked_by": "HEL-01",                  // for "blocked"
    ///     "failure": true,                         // whether this alone keeps the extension from conforming
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
    /// A line that is longer than `line` tells so by `bytes`. Texts are as they were; what a terminal or a page could take
    /// for a command is written as a JSON escape.
    Json,
    /// For build servers: a suite per group.
    Junit,
    /// The Test Anything Protocol, version 14.
    Tap,
    /// Workflow commands, which GitHub shows beside the code.
    Github,
    /// One page that needs nothing but a browser.
    Html,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 6] = [
        Self::Pretty,
        Self::Json,
        Self::Junit,
        Self::Tap,
        Self::Github,
        Self::Html,
    ];

    /// What it is called on the command line.
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

    /// The form of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// How [`Form::Pretty`] looks. The other forms look the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether to colour. It is never the only sign of anything.
    pub colour: bool,
    /// The columns there are.
    pub width: usize,
}

impl Default for Look {
    /// For a file or a pipe.
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
        }
    }
}

impl Report {
    /// Writes the report, whole, in one of its forms.
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

    /// Whether the extension conforms, as far as it was tried. A run that ran nothing has proved nothing.
    pub fn conforms(&self) -> bool {
        matches!(self.exit(), Exit::Conforms | Exit::Stale)
    }

    /// How often each verdict was given.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.outcomes)
    }
}

impl Counts {
    /// Counts the verdicts of these.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            *match outcome.verdict {
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

/// What a run says to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It conforms.
    Conforms = 0,
    /// It does not.
    Fails = 1,
    /// Nothing was exercised, so nothing was proved.
    Nothing = 2,
    /// It could not be started, or did not shake hands.
    Unreachable = 3,
    /// The harness itself is at fault.
    Harness = 4,
    /// The baseline names what passes by now.
    Stale = 5,
}

impl Report {
    /// What this run says to the shell.
    pub fn exit(&self) -> Exit {
        let Counts {
            pass,
            fail,
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
        } else if pass + fail + warn + not_exercised == 0 {
            Exit::Nothing
        } else if !self.stale.is_empty() {
            Exit::Stale
        } else {
            Exit::Conforms
        }
    }
}

impl Outcome {
    /// Whether this alone keeps an extension from conforming.
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
