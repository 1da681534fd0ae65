//! Collects the results of all checks, and turns them into verdicts.

use std::{collections::HashMap, time::Duration};

use crate::{
    check::{Check, Checked, Fault, HELLO, Run, SeenTypes, Stop},
    exchange::Exchange,
    session::{Sink, Violation},
    survey::Survey,
    verdict::{Finding, Level, Outcome, Verdict},
};

/// Maximum number of reported frames that break the same rule.
const SHOWN: usize = 5;

/// The results of all checks so far.
#[derive(Default)]
pub(super) struct Results {
    /// Findings about frames of any session, by the check whose rule they broke.
    pub(super) findings: HashMap<&'static str, Vec<Finding>>,
    pub(super) tried: HashMap<&'static str, Tried>,
    /// The check in whose session a frame first broke the rule. Reproducing the failure requires
    /// both checks.
    pub(super) sources: HashMap<&'static str, &'static str>,
    seen: SeenTypes,
}

/// The result of a check that was run.
pub(super) struct Tried {
    pub(super) verdict: Verdict,
    pub(super) findings: Vec<Finding>,
    pub(super) took: Duration,
    pub(super) exchanges: Vec<Exchange>,
}

impl Tried {
    pub(super) fn new(verdict: Verdict, findings: Vec<Finding>, took: Duration) -> Self {
        Self {
            verdict,
            findings,
            took,
            exchanges: Vec::new(),
        }
    }
}

impl Results {
    /// Adds the results of the first start. Its exchange is reported with the `hello` check.
    pub(super) fn take_in_survey(&mut self, sink: &Sink) {
        let mut tried = Tried::new(Verdict::Pass, Vec::new(), Duration::ZERO);
        tried.exchanges = self.take_in(HELLO, sink);
        self.sources.clear();
        self.tried.insert(HELLO, tried);
    }

    /// Adds the data that the sessions of a check collected, and returns their exchanges.
    pub(super) fn take_in(&mut self, id: &'static str, sink: &Sink) -> Vec<Exchange> {
        let collected = std::mem::take(&mut *sink.lock());
        for Violation { check, finding } in collected.violations {
            let known = self.findings.entry(check).or_default();
            if known.is_empty() && check != id {
                self.sources.insert(check, id);
            }
            // Report the same mistake once, and only a few variants.
            if known.len() < SHOWN && !known.iter().any(|it| it.what == finding.what) {
                known.push(finding);
            }
        }
        self.seen.0.extend(collected.seen);
        collected.exchanges
    }

    pub(super) fn outcome(
        &mut self,
        check: &'static Check,
        survey: &Survey,
        blocker: Option<&str>,
    ) -> Outcome {
        let unreached = || {
            (
                Verdict::BlockedBy(blocker.unwrap_or_default().to_owned()),
                Vec::new(),
            )
        };
        let mut tried = self.tried.remove(check.id);
        let found = self.findings.remove(check.id).unwrap_or_default();
        let (took, exchanges) = match &mut tried {
            Some(tried) => (tried.took, std::mem::take(&mut tried.exchanges)),
            None => (Duration::ZERO, Vec::new()),
        };
        let (verdict, findings) = match (&check.run, tried) {
            // A frame that broke the rule in any session outweighs the check's own result.
            (_, tried) if !found.is_empty() => {
                let mut findings = found;
                findings.extend(tried.into_iter().flat_map(|it| it.findings));
                (failure(check.level), findings)
            }
            (Run::Surveyed(judge), _) => {
                judge(survey).map_or_else(unreached, |it| judged(check, it))
            }
            _ if blocker.is_some() => unreached(),
            (Run::Watched(_, not_applicable), _) => {
                match not_applicable(&survey.surface, &self.seen) {
                    Some(why) => (Verdict::NotApplicable, vec![Finding::new(why)]),
                    None => (Verdict::Pass, Vec::new()),
                }
            }
            (_, Some(tried)) => (tried.verdict, tried.findings),
            (_, None) => (Verdict::Withheld, Vec::new()),
        };
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
}

/// The verdict and findings of a check.
pub(super) fn judged(check: &Check, checked: Checked) -> (Verdict, Vec<Finding>) {
    let findings = |faults: Vec<Fault>| faults.into_iter().map(|it| it.finding).collect();
    match checked {
        Ok(recorded) => (Verdict::Pass, recorded),
        Err(Stop::Broken(faults)) if !faults.is_empty() && faults.iter().all(|it| it.is_open) => {
            (Verdict::NotExercised, findings(faults))
        }
        Err(Stop::Broken(faults)) => (failure(check.level), findings(faults)),
        Err(Stop::Weak(faults)) => (Verdict::Warn, findings(faults)),
        Err(Stop::NotApplicable(why)) => (Verdict::NotApplicable, vec![Finding::new(why)]),
        Err(Stop::Withheld(why)) => (Verdict::Withheld, vec![Finding::new(why)]),
        Err(Stop::NotExercised(finding)) => (Verdict::NotExercised, vec![*finding]),
        Err(Stop::BlockedBy(id)) => (Verdict::BlockedBy(id.to_owned()), Vec::new()),
    }
}

pub(super) fn failure(level: Level) -> Verdict {
    match level {
        Level::Must => Verdict::Fail,
        Level::Should => Verdict::Warn,
        Level::Info => Verdict::Pass,
    }
}
