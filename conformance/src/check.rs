//! Defines a check: its rule, its explanation, and the code that evaluates it. Each group of the
//! catalogue has its own file.
//!
//! The survey and the sessions only collect observations; the checks evaluate them.

mod command;
mod context;
mod event;
mod handshake;
mod ids;
mod intercept;
mod lifecycle;
mod manifest;
mod panel;
mod patience;
mod registration;
mod robustness;
mod spelling;
mod tool;

use std::{collections::HashSet, fmt::Display, pin::Pin};

use clap::ValueEnum;
use zot_protocol::{
    FromExtension, FromHost, schema,
    validate::{Refusal, RefusalKind},
};

use crate::{
    session::{History, ReceivedLine, Session, Violation},
    surface::Surface,
    survey::Survey,
    verdict::{Finding, Level},
};

pub(crate) use context::{Cx, Known, Plan, Request, until_ready};
pub(crate) use handshake::HELLO;
pub(crate) use patience::PATIENCE;

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub enum Profile {
    /// The handshake, each registered item once, and shutdown; for a save hook
    Quick,
    /// Every check that needs only minimal valid arguments
    #[default]
    Safe,
    /// Also hostile arguments, and every key in a panel
    Full,
}

impl Profile {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Safe => "safe",
            Self::Full => "full",
        }
    }
}

/// One rule of the catalogue.
pub struct Check {
    /// A stable id, such as `TOL-01`.
    pub id: &'static str,
    /// The severity of a failure.
    pub level: Level,
    /// The lowest profile that runs the check.
    pub profile: Profile,
    /// The rule, on one line.
    pub title: &'static str,
    /// What the harness does.
    pub does: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to fix a failure.
    pub fix: &'static str,
    /// Checks whose failure blocks this one.
    pub needs: &'static [&'static str],
    pub(crate) run: Run,
}

impl Check {
    /// The checks that must finish before this one starts.
    pub(crate) fn waits_for(&self) -> impl Iterator<Item = &'static str> {
        let reaches = match self.run {
            Run::Probed(_) | Run::ProbedAndWatched(..) => REACHES,
            _ => &[],
        };
        self.needs.iter().chain(reaches).copied()
    }

    /// The code that sends requests; `None` if the check only observes.
    pub(crate) fn trial(&self) -> Option<Trial> {
        match self.run {
            Run::Surveyed(_) | Run::Watched(..) => None,
            Run::Tried(trial)
            | Run::TriedAndWatched(trial, _)
            | Run::Probed(trial)
            | Run::ProbedAndWatched(trial, _) => Some(trial),
        }
    }
}

/// How a check is judged.
pub(crate) enum Run {
    /// Judged by the observations of the first start; `None` if it ended too early to tell.
    Surveyed(fn(&Survey) -> Option<Checked>),
    /// Judged by each frame of every session. The second function returns a reason if there is
    /// nothing to judge.
    Watched(JudgeFrame, fn(&Surface, &SeenTypes) -> Option<&'static str>),
    /// Judged by sending requests.
    Tried(Trial),
    /// Judged by sending requests, and by each frame of every session.
    TriedAndWatched(Trial, JudgeFrame),
    /// Judged by whether the extension still works. Runs after the checks in [`REACHES`], which
    /// show which requests it answers.
    Probed(Trial),
    /// Like `Probed`, but also judged by each frame of every session.
    ProbedAndWatched(Trial, JudgeFrame),
}

/// Sends requests and judges the replies.
pub(crate) type Trial = for<'a> fn(&'a Cx) -> Trying<'a>;

/// Returns how a frame breaks the rule, given the history of the session.
pub(crate) type JudgeFrame = fn(&ReceivedLine, &History) -> Option<Finding>;

pub(crate) type Trying<'a> = Pin<Box<dyn Future<Output = Checked> + Send + 'a>>;

/// The types of the frames that all sessions received.
#[derive(Debug, Default)]
pub(crate) struct SeenTypes(pub(crate) HashSet<String>);

impl SeenTypes {
    /// Whether a frame of one of these types was received.
    pub(crate) fn any(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.0.contains(*kind))
    }
}

/// Findings to record for a pass, or why the check did not pass.
pub(crate) type Checked = Result<Vec<Finding>, Stop>;

/// Why a check did not pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rule is broken. If all of these faults are open (see `Fault::is_open`), it may still
    /// hold.
    Broken(Vec<Fault>),
    /// Only the SHOULD part of the rule is broken.
    Weak(Vec<Fault>),
    /// The extension has nothing the rule applies to.
    NotApplicable(String),
    /// The profile excludes the check.
    Withheld(String),
    /// The harness could not exercise the rule.
    NotExercised(Box<Finding>),
    /// The check is blocked because this other check failed.
    BlockedBy(&'static str),
}

/// A finding, and the frames that led to it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) finding: Finding,
    /// The host's frames after the handshake, up to the one that failed. Empty if the frames are
    /// not the cause.
    pub(crate) case: Vec<serde_json::Value>,
    /// Whether the harness gave up before a host would have. If so, the rule may still hold.
    pub(crate) is_open: bool,
}

impl From<Finding> for Fault {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            case: Vec::new(),
            is_open: false,
        }
    }
}

impl Fault {
    /// Creates a fault with the frames sent in `session`.
    pub(crate) fn in_session(finding: Finding, session: &Session) -> Self {
        Self {
            finding,
            case: session.sent().to_vec(),
            is_open: false,
        }
    }

    /// Puts a prefix before the message of the finding.
    fn prefixed(mut self, prefix: impl Display) -> Self {
        self.finding = self.finding.prefixed(prefix);
        self
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

/// Returns every rule that a line from the extension breaks, given the history of the session.
pub(crate) fn violations(received: &ReceivedLine, before: &History) -> Vec<Violation> {
    if received.is_blank() {
        return Vec::new();
    }
    let violation = |check: &'static Check| match check.run {
        Run::Watched(frame, _)
        | Run::TriedAndWatched(_, frame)
        | Run::ProbedAndWatched(_, frame) => Some(Violation {
            check: check.id,
            finding: frame(received, before)?,
        }),
        Run::Surveyed(_) | Run::Tried(_) | Run::Probed(_) => None,
    };
    catalogue().filter_map(violation).collect()
}

/// Returns why a line is invalid. Lines before `hello` are judged by the survey.
fn refusal<'a>(received: &'a ReceivedLine, before: &History) -> Option<&'a Refusal> {
    let is_judged = received.is_text() && (before.hellos > 0 || received.is("hello"));
    received.frame.as_ref().err().filter(|_| is_judged)
}

/// Returns why a frame of one of these types is invalid.
fn invalid<'a>(
    received: &'a ReceivedLine,
    before: &History,
    types: &[&str],
) -> Option<&'a Refusal> {
    let of_type = |it: &&Refusal| types.contains(&it.frame_type.as_deref().unwrap_or_default());
    refusal(received, before).filter(|it| it.kind == RefusalKind::Invalid && of_type(it))
}

/// Returns a finding for an invalid frame of one of these types.
fn invalid_frame(received: &ReceivedLine, before: &History, types: &[&str]) -> Option<Finding> {
    let refusal = invalid(received, before, types)?;
    Some(does_not_validate(received, refusal))
}

/// Creates a finding that marks the invalid part of a frame and gives a valid example.
fn does_not_validate(received: &ReceivedLine, refusal: &Refusal) -> Finding {
    let pointer = (refusal.kind == RefusalKind::Invalid).then(|| refusal.pointer.clone());
    let finding = Finding::new(refusal.to_string()).frame(&received.shown, pointer);
    match refusal.frame_type.as_deref().and_then(example_of) {
        Some(example) => finding.hint(format!("valid example: {example}")),
        None => finding,
    }
}

/// The first example in the published schema of a frame.
fn example_of(kind: &str) -> Option<String> {
    let from_extension = schema::published_frame::<FromExtension>(kind);
    let schema = from_extension.or_else(|| schema::published_frame::<FromHost>(kind))?;
    Some(schema.get("examples")?.get(0)?.to_string())
}

/// A check that passes with nothing to record.
const PASS: Checked = Ok(Vec::new());

/// Passes if there are no faults.
pub(crate) fn broken(faults: Vec<Fault>) -> Checked {
    if faults.is_empty() {
        PASS
    } else {
        Err(Stop::Broken(faults))
    }
}

/// Every check, in report order.
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
        spelling::CHECKS,
        lifecycle::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// Finds a check by id.
pub fn find(id: &str) -> Option<&'static Check> {
    catalogue().find(|check| check.id.eq_ignore_ascii_case(id))
}

/// The checks that show whether requests are answered at all. Other checks depend on them.
pub(crate) const REACHES: &[&str] = &[
    intercept::ANSWERS,
    tool::ANSWERS,
    command::ANSWERS,
    lifecycle::EXITS,
];
