//! What a check has found.

use std::{fmt, time::Duration};

use crate::exchange::Exchange;

/// How much a rule weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Recorded, and never a failure.
    Info,
    /// Broken, it is a warning; under `--strict` a failure.
    Should,
    /// Broken, the extension does not conform.
    Must,
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The rule holds.
    Pass,
    /// The rule is broken.
    Fail,
    /// A rule that should hold is broken.
    Warn,
    /// The rule cannot apply: the extension registered nothing of the kind.
    NotApplicable,
    /// The profile does not try it.
    Withheld,
    /// The failure of another check, named here, made it unreachable.
    BlockedBy(String),
    /// It was tried, and the harness could not reach it.
    NotExercised,
}

impl Verdict {
    /// The sign before a line: `✓ ✗ ! –`.
    pub fn sign(&self) -> char {
        match self {
            Self::Pass => '✓',
            Self::Fail | Self::NotExercised => '✗',
            Self::Warn => '!',
            Self::NotApplicable | Self::Withheld | Self::BlockedBy(_) => '–',
        }
    }

    /// Whether the rule was not tried, so that nothing is known of it.
    pub fn is_untried(&self) -> bool {
        matches!(
            self,
            Self::NotApplicable | Self::Withheld | Self::BlockedBy(_)
        )
    }

    /// The word for it, without the id of a `blocked by`: what the last line counts.
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

/// One thing that a check has to say, and all that helps to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// What was seen, in one line: ``tool `weather`: no tool_result within 60 s``.
    pub what: String,
    /// The frame it is about, as it was on the wire (cut if it is long), and the JSON pointer to the wrong place.
    pub frame: Option<(String, Option<String>)>,
    /// What to do about it, in words.
    pub hint: Option<String>,
    /// The end of what the extension wrote to its standard error.
    pub stderr: Option<String>,
    /// The smallest input that still fails, one frame per line.
    pub input: Option<String>,
    /// The command that repeats it.
    pub repeat: Option<String>,
}

impl Finding {
    /// One that says this and no more.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// What an error says, its `hint:` line apart.
    pub fn from_error(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        match text.split_once("\nhint: ") {
            Some((what, hint)) => Self::new(what).hint(hint),
            None => Self::new(text),
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the frame it is about.
    #[must_use]
    pub fn frame(mut self, line: impl Into<String>, pointer: Option<String>) -> Self {
        self.frame = Some((line.into(), pointer));
        self
    }
}

/// What became of one check, or of one transcript.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The check's id, `TOL-01`, or the transcript's, `transcript/rain`.
    pub id: String,
    /// Its level. A transcript is a must.
    pub level: Level,
    /// The rule, in one line.
    pub title: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, for anything but a pass; what was recorded, for a pass.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took: Duration,
    /// What went over the wire for it: one per process that was started.
    pub exchanges: Vec<Exchange>,
    /// Whether it is known to fail, by the baseline.
    pub known: bool,
}
