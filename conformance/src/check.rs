//! A check: its rule, its texts, and the code that tries it. One file per group of the catalogue.

mod command;
mod context;
mod event;
mod handshake;
mod intercept;
mod lifecycle;
mod manifest;
mod panel;
mod registration;
mod robustness;
mod tool;

use std::{fmt, pin::Pin};

use crate::{
    session::Session,
    surface::Surface,
    verdict::{Finding, Level},
};

pub(crate) use context::{Cx, Known, Plan, Request, until_ready};

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Profile {
    /// One of each: the handshake, each registration once, the end. For a save hook.
    Quick,
    /// All that minimal valid arguments can show.
    #[default]
    Safe,
    /// Hostile arguments and every key of a panel, too.
    Full,
}

impl Profile {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Safe => "safe",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One rule of the catalogue.
pub struct Check {
    /// Its id, which never changes its meaning: `TOL-01`.
    pub id: &'static str,
    /// How much it weighs.
    pub level: Level,
    /// From which profile on it is tried.
    pub profile: Profile,
    /// The rule, in one line.
    pub title: &'static str,
    /// What the harness does.
    pub does: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do when it fails.
    pub fix: &'static str,
    /// Checks whose failure makes this one unreachable.
    pub needs: &'static [&'static str],
    /// Checks that must have ended before this one begins.
    pub(crate) after: &'static [&'static str],
    pub(crate) run: Run,
}

/// How a check comes to its verdict.
pub(crate) enum Run {
    /// From the manifest and the first start, which come before everything else.
    Surveyed,
    /// From the frames of all sessions. Where it cannot apply, why.
    Watched(fn(&Surface, &Seen) -> Option<&'static str>),
    /// By trying.
    Tried(for<'a> fn(&'a Cx) -> Trying<'a>),
}

pub(crate) type Trying<'a> = Pin<Box<dyn Future<Output = Checked> + Send + 'a>>;

/// Which frames were heard in all sessions, by type.
#[derive(Debug, Default)]
pub(crate) struct Seen(pub(crate) std::collections::HashMap<String, usize>);

impl Seen {
    /// Whether a frame of one of these types came.
    pub(crate) fn any(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.0.contains_key(*kind))
    }
}

/// What a trial found: what is worth recording, or why it stopped.
pub(crate) type Checked = Result<Vec<Finding>, Stop>;

/// Why a check is no pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rule is broken.
    Broken(Vec<Fault>),
    /// The part of the rule that only should hold is broken.
    Weak(Vec<Fault>),
    /// There is nothing to try it on.
    NotApplicable(String),
    /// The profile does not try it.
    Withheld(String),
    /// It was tried, and could not be reached.
    NotExercised(Box<Finding>),
    /// The failure of this check makes it unreachable.
    BlockedBy(&'static str),
}

/// A finding, and what was sent to get there.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) finding: Finding,
    /// The host's frames after the handshake; the last one is what it failed at. Empty where it cannot be told so.
    pub(crate) case: Vec<serde_json::Value>,
}

impl From<Finding> for Fault {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            case: Vec::new(),
        }
    }
}

impl Fault {
    /// One that `session` shows.
    pub(crate) fn in_session(finding: Finding, session: &Session) -> Self {
        Self {
            finding,
            case: session.sent().to_vec(),
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Broken(vec![fault])
    }
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Self {
        Self::Broken(vec![finding.into()])
    }
}

impl Stop {
    pub(crate) fn not_exercised(finding: Finding) -> Self {
        Self::NotExercised(Box::new(finding))
    }

    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }
}

/// A pass, unless something was found.
pub(crate) fn broken(faults: Vec<Fault>) -> Checked {
    if faults.is_empty() {
        Ok(Vec::new())
    } else {
        Err(Stop::Broken(faults))
    }
}

/// Every check, in the order in which they are told.
pub fn catalogue() -> impl Iterator<Item = &'static Check> {
    [
        manifest::CHECKS,
        handshake::CHECKS,
        registration::CHECKS,
        command::CHECKS,
        tool::CHECKS,
        event::CHECKS,
        intercept::CHECKS,
        panel::CHECKS,
        robustness::CHECKS,
        lifecycle::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// The check with this id.
pub fn find(id: &str) -> Option<&'static Check> {
    catalogue().find(|check| check.id.eq_ignore_ascii_case(id))
}

/// Names what is registered and needed to reach anything else of the kind: when it fails, the rest is blocked.
pub(crate) const REACHES: &[&str] = &["INT-01", "TOL-01", "CMD-01", "LIF-01"];
