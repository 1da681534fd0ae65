//! All that a run has found, and the forms in which it is told.

use std::time::Duration;

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

impl Report {
    /// How often each verdict was given.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for outcome in &self.outcomes {
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
        } else {
            Exit::Conforms
        }
    }
}

impl Outcome {
    /// Whether this alone keeps an extension from conforming.
    pub fn is_failure(&self, strict: bool) -> bool {
        match self.verdict {
            Verdict::Fail => true,
            Verdict::NotExercised => self.level == Level::Must || strict,
            Verdict::Warn => strict,
            _ => false,
        }
    }
}
