//! A check: its rule, its texts, and the code that judges it. One file per group of the catalogue.
//!
//! The survey and the sessions only collect observations; the checks look at them.

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

use zot_protocol::{
    FromExtension, FromHost, schema,
    validate::{Refusal, RefusalKind},
};

use crate::{
    session::{Heard, History, Session, Violation},
    surface::Surface,
    survey::Survey,
    verdict::{Finding, Level},
};

pub(crate) use context::{Cx, Known, Plan, Request, until_ready};
pub(crate) use handshake::HELLO;

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
    /// Judged by what the first start showed; `None` if it ended too early to tell.
    Surveyed(fn(&Survey) -> Option<Checked>),
    /// Judged by each frame of every session. `not_applicable` says why there is nothing to judge.
    Watched {
        frame: JudgeFrame,
        not_applicable: fn(&Surface, &Seen) -> Option<&'static str>,
    },
    /// Judged by sending requests.
    Tried(for<'a> fn(&'a Cx) -> Trying<'a>),
    /// Judged by sending requests, and by each frame of every session.
    TriedAndWatched(for<'a> fn(&'a Cx) -> Trying<'a>, JudgeFrame),
}

/// Says how a frame breaks the rule, given what passed before it in its session.
pub(crate) type JudgeFrame = fn(&Heard, &History) -> Option<Finding>;

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

/// Every rule that a line from the extension breaks, given what passed before it in its session.
pub(crate) fn violations(heard: &Heard, before: &History) -> Vec<Violation> {
    if heard.is_blank() {
        return Vec::new();
    }
    let violation = |check: &'static Check| match check.run {
        Run::Watched { frame, .. } | Run::TriedAndWatched(_, frame) => Some(Violation {
            check: check.id,
            finding: frame(heard, before)?,
        }),
        Run::Surveyed(_) | Run::Tried(_) => None,
    };
    catalogue().filter_map(violation).collect()
}

/// Why the schema refuses a line. Lines before `hello` belong to the survey.
fn refusal<'a>(heard: &'a Heard, before: &History) -> Option<&'a Refusal> {
    let is_judged = heard.is_text() && (before.hellos() > 0 || heard.is("hello"));
    heard.frame.as_ref().err().filter(|_| is_judged)
}

/// Why the schema refuses a frame of one of these types.
fn invalid<'a>(heard: &'a Heard, before: &History, types: &[&str]) -> Option<&'a Refusal> {
    let of_type = |it: &&Refusal| types.contains(&it.frame_type.as_deref().unwrap_or_default());
    refusal(heard, before).filter(|it| it.kind == RefusalKind::Invalid && of_type(it))
}

/// Shows where a frame does not validate, and a valid one.
fn does_not_validate(heard: &Heard, refusal: &Refusal) -> Finding {
    let pointer = (refusal.kind == RefusalKind::Invalid).then(|| refusal.pointer.clone());
    let finding = Finding::new(refusal.to_string()).frame(heard.shown(), pointer);
    match refusal.frame_type.as_deref().and_then(example_of) {
        Some(example) => finding.hint(format!("valid example: {example}")),
        None => finding,
    }
}

/// The first example in the published schema of a frame.
fn example_of(kind: &str) -> Option<String> {
    let document =
        schema::of_frame::<FromExtension>(kind).or_else(|| schema::of_frame::<FromHost>(kind))?;
    Some(document.schema.get("examples")?.get(0)?.to_string())
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
pub(crate) const REACHES: &[&str] = &[
    intercept::ANSWERS,
    tool::ANSWERS,
    command::ANSWERS,
    lifecycle::EXITS,
];
