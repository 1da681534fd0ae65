//! Verdicts, findings and outcomes.

use std::{fmt, time::Duration};

use crate::exchange::Exchange;

/// The severity of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A violation is recorded, but is never a failure.
    Info,
    /// A violation is a warning, and a failure with `--strict`.
    Should,
    /// A violation means that the extension does not conform.
    Must,
}

impl Level {
    /// The level as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Should => "should",
            Self::Must => "must",
        }
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The rule holds.
    Pass,
    /// The rule is broken.
    Fail,
    /// A SHOULD rule is broken.
    Warn,
    /// The rule does not apply to this extension.
    NotApplicable,
    /// The profile excludes the check.
    Withheld,
    /// The check with this id failed and blocks this check.
    BlockedBy(String),
    /// The harness could not exercise the rule.
    NotExercised,
}

impl Verdict {
    /// The symbol in reports: `✓ ✗ ! –`.
    pub fn sign(&self) -> char {
        match self {
            Self::Pass => '✓',
            Self::Fail | Self::NotExercised => '✗',
            Self::Warn => '!',
            Self::NotApplicable | Self::Withheld | Self::BlockedBy(_) => '–',
        }
    }

    /// Whether the rule was not tested.
    pub fn is_untried(&self) -> bool {
        matches!(
            self,
            Self::NotApplicable | Self::Withheld | Self::BlockedBy(_)
        )
    }

    /// The word for the verdict in the summary.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::NotApplicable => "n/a",
            Self::Withheld => "withheld",
            Self::BlockedBy(_) => "blocked",
            Self::NotExercised => "not exercised",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockedBy(id) => write!(formatter, "blocked by {id}"),
            other => formatter.write_str(other.word()),
        }
    }
}

/// One result of a check, with everything that helps to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// What went wrong, on one line: ``tool `weather`: no tool_result within 60 s``.
    pub what: String,
    /// The frame, truncated if it is long, and a JSON pointer to the error.
    pub frame: Option<(String, Option<String>)>,
    /// How to fix it.
    pub hint: Option<String>,
    /// The last part of the extension's stderr.
    pub stderr: Option<String>,
    /// The smallest input that still fails, one frame per line.
    pub input: Option<String>,
    /// A command that reproduces it.
    pub repeat: Option<String>,
}

impl Finding {
    /// Creates a finding with only a message.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// Creates a finding from an error, splitting off its `hint:` line.
    pub fn from_error(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        match text.split_once("\nhint: ") {
            Some((what, hint)) => Self::new(what).hint(hint),
            None => Self::new(text),
        }
    }

    /// Puts a prefix before the message: `prefix: message`.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl fmt::Display) -> Self {
        self.what = format!("{prefix}: {}", self.what);
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the frame.
    #[must_use]
    pub fn frame(mut self, line: impl Into<String>, pointer: Option<String>) -> Self {
        self.frame = Some((line.into(), pointer));
        self
    }
}

impl From<std::io::Error> for Box<Finding> {
    fn from(error: std::io::Error) -> Self {
        Self::new(Finding::from_error(&error))
    }
}

/// The result of a check or a transcript.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The check's id, `TOL-01`, or the transcript's, `transcript/rain`.
    pub id: String,
    /// The level. Transcripts are MUST.
    pub level: Level,
    /// The rule, on one line.
    pub title: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reasons for the verdict, or what a passing check recorded.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took: Duration,
    /// The exchanges, one per process.
    pub exchanges: Vec<Exchange>,
    /// Whether the baseline lists it.
    pub known: bool,
}
