//! What is known of each check so far, and what verdict that makes.

use std::{collections::HashMap, sync::PoisonError, time::Duration};

use crate::{
    check::{Check, Plan, Run, Seen},
    session::{Collected, Sink, Violation},
    verdict::{Finding, Level, Outcome, Verdict},
};

/// How many frames that break one rule are told of.
const SHOWN: usize = 5;

/// What is known of each check so far.
#[derive(Default)]
pub(super) struct Results {
    /// What the first start, or a frame anywhere, has shown.
    pub(super) findings: HashMap<&'static str, Vec<Finding>>,
    pub(super) tried: HashMap<&'static str, Tried>,
    /// In whose sessions a frame first broke the rule of another check: both are needed to see it again.
    pub(super) sources: HashMap<&'static str, &'static str>,
    seen: Seen,
}

/// How a trial ended.
pub(super) struct Tried {
    pub(super) verdict: Verdict,
    pub(super) findings: Vec<Finding>,
    pub(super) took: Duration,
    pub(super) collected: Collected,
}

impl Results {
    pub(super) fn of(findings: HashMap<&'static str, Vec<Finding>>) -> Self {
        Self {
            findings,
            ..Self::default()
        }
    }

    /// What the sessions of a check have shown about all of them.
    pub(super) fn take_in(&mut self, id: &'static str, sink: &Sink) -> Collected {
        let mut collected = sink.lock().unwrap_or_else(PoisonError::into_inner);
        let mut collected = std::mem::take(&mut *collected);
        for Violation { check, finding } in collected.violations.drain(..) {
            let known = self.findings.entry(check).or_default();
            // The first start, which HEL-01 stands for, is part of every run.
            if known.is_empty() && check != id && id != "HEL-01" {
                self.sources.insert(check, id);
            }
            // The same mistake in every session is one mistake, and a few that differ in a value show it as well as all.
            if known.len() < SHOWN && !known.iter().any(|it| it.what == finding.what) {
                known.push(finding);
            }
        }
        for (kind, count) in collected.seen.drain() {
            *self.seen.0.entry(kind).or_default() += count;
        }
        if id == "HEL-01" {
            let tried = Tried {
                verdict: Verdict::Pass,
                findings: Vec::new(),
                took: Duration::ZERO,
                collected,
            };
            self.tried.insert(id, tried);
            return Collected::default();
        }
        collected
    }

    pub(super) fn verdict(&mut self, check: &'static Check, plan: &Plan) -> Outcome {
        let tried = self.tried.remove(check.id);
        let found = self.findings.remove(check.id).unwrap_or_default();
        let (took, exchanges) = match &tried {
            Some(tried) => (tried.took, tried.collected.exchanges.clone()),
            None => (Duration::ZERO, Vec::new()),
        };
        let (verdict, findings) = match (&check.run, tried) {
            // A frame that breaks the rule breaks it, wherever it was seen.
            (_, tried) if !found.is_empty() => {
                let mut findings = found;
                findings.extend(tried.into_iter().flat_map(|it| it.findings));
                (failure(check.level), findings)
            }
            (Run::Surveyed, _) => match check.id {
                "HEL-03" | "MAN-01" | "MAN-03" | "MAN-04" if plan.target.manifest.is_none() => (
                    Verdict::NotApplicable,
                    vec![Finding::new("a bare command has no manifest")],
                ),
                "REG-03" if plan.surface.tools.is_empty() => (
                    Verdict::NotApplicable,
                    vec![Finding::new("it registers no tool")],
                ),
                _ => (Verdict::Pass, Vec::new()),
            },
            (Run::Watched(applies), _) => match applies(&plan.surface, &self.seen) {
                Some(why) => (Verdict::NotApplicable, vec![Finding::new(why)]),
                None => (Verdict::Pass, Vec::new()),
            },
            (Run::Tried(_), Some(tried)) => (tried.verdict, tried.findings),
            (Run::Tried(_), None) => (Verdict::Withheld, Vec::new()),
        };
        outcome(check, verdict, findings, took, exchanges)
    }

    /// For a run that ended at `blocker`, before anything could be tried.
    pub(super) fn blocked(&mut self, check: &'static Check, blocker: &str) -> Outcome {
        // The order in which a start fails.
        const BEFORE: [&str; 5] = ["MAN-01", "MAN-03", "MAN-04", "MAN-02", "HEL-01"];
        let place = |id: &str| {
            BEFORE
                .iter()
                .position(|it| *it == id)
                .unwrap_or(BEFORE.len())
        };
        let found = self.findings.remove(check.id).unwrap_or_default();
        let collected = self.tried.remove(check.id).map(|it| it.collected);
        let exchanges = collected.unwrap_or_default().exchanges;
        let verdict = if !found.is_empty() {
            failure(check.level)
        } else if place(check.id) < place(blocker) {
            Verdict::Pass
        } else {
            Verdict::BlockedBy(blocker.to_owned())
        };
        outcome(check, verdict, found, Duration::ZERO, exchanges)
    }
}

pub(super) fn failure(level: Level) -> Verdict {
    match level {
        Level::Must => Verdict::Fail,
        Level::Should => Verdict::Warn,
        Level::Info => Verdict::Pass,
    }
}

pub(super) fn outcome(
    check: &Check,
    verdict: Verdict,
    findings: Vec<Finding>,
    took: Duration,
    exchanges: Vec<crate::exchange::Exchange>,
) -> Outcome {
    Outcome {
        id: check.id.to_owned(),
        level: check.level,
        title: check.title.to_owned(),
        verdict,
        findings,
        took,
        exchanges,
        known: false,
    }
}
