//! Runs the checks: each when those it waits for have ended, more of them at once than there are cores, since most of
//! them wait.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use zot_process::Spawner;

use crate::{
    check::{Check, Cx, Fault, Known, Plan, Profile, Run, Seen, Stop, catalogue},
    report::Report,
    session::{Collected, Onlooker, Sink, Start, Violation},
    survey::{Survey, survey},
    target::{Target, Unstartable},
    verdict::{Finding, Level, Outcome, Verdict},
};

/// How a run goes.
#[derive(Clone)]
pub struct Options {
    /// How far it goes.
    pub profile: Profile,
    /// What random arguments are made from.
    pub seed: u64,
    /// Multiplies every deadline.
    pub scale: f64,
    /// How long it may take to `hello`; `None`: as long as its manifest or the protocol says.
    pub startup: Option<Duration>,
    /// How many checks at once.
    pub jobs: usize,
    /// Which checks.
    pub selection: Selection,
    /// Whether a warning fails the run.
    pub strict: bool,
    /// Tries what the failure of another check would block.
    pub keep_going: bool,
    /// Told of every moment of every session, as it passes.
    pub onlooker: Option<Onlooker>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            seed: 0,
            scale: 1.0,
            startup: None,
            jobs: 8,
            selection: Selection::default(),
            strict: false,
            keep_going: false,
            onlooker: None,
        }
    }
}

/// Which checks are told of.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs of ids; empty is all.
    pub only: Vec<String>,
    /// Globs of ids.
    pub skip: Vec<String>,
    /// The lowest level.
    pub level: Option<Level>,
}

impl Selection {
    /// Whether something of this id and level is told of.
    pub fn has(&self, id: &str, level: Level) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| matches_glob(glob, id));
        (self.only.is_empty() || any(&self.only))
            && !any(&self.skip)
            && self.level.is_none_or(|lowest| level >= lowest)
    }
}

/// `*` is any text, `?` one character; case does not count.
fn matches_glob(glob: &str, text: &str) -> bool {
    fn from(glob: &[u8], text: &[u8]) -> bool {
        match (glob.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => (0..=text.len()).any(|skip| from(rest, &text[skip..])),
            (Some((b'?', glob)), Some((_, text))) => from(glob, text),
            (Some((a, glob)), Some((b, text))) => a.eq_ignore_ascii_case(b) && from(glob, text),
            _ => false,
        }
    }
    from(glob.as_bytes(), text.as_bytes())
}

/// Told how a run goes on.
pub trait Progress: Send + Sync {
    /// So many checks will be tried.
    fn begins(&self, checks: usize) {
        let _ = checks;
    }
    /// This one has begun.
    fn tries(&self, id: &str) {
        let _ = id;
    }
    /// This one has ended.
    fn ended(&self, outcome: &Outcome) {
        let _ = outcome;
    }
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl Progress for NoProgress {}

/// Runs every check that is selected. The transcripts are not among them.
pub async fn run(
    target: Result<Target, Unstartable>,
    shown: &str,
    options: &Options,
    progress: Arc<dyn Progress>,
) -> std::io::Result<Report> {
    let began = Instant::now();
    let mut report = Report {
        target: shown.to_owned(),
        name: None,
        profile: options.profile.as_str(),
        seed: options.seed,
        outcomes: Vec::new(),
        took: Duration::ZERO,
        strict: options.strict,
        unreachable: None,
        fault: None,
        stale: Vec::new(),
    };
    let start = Start {
        spawner: Spawner::new()?,
        confined: true,
        scale: options.scale,
        onlooker: options.onlooker.clone(),
        directories: None,
    };
    let sink = Sink::default();
    let (target, survey) = match target {
        Ok(target) => {
            let limit = options.startup.unwrap_or(target.hello_limit());
            let limit = limit.mul_f64(options.scale);
            let survey = survey(&target, &start, limit, &sink).await;
            (Some(target), survey)
        }
        Err(why) => (None, Survey::failed(why.check(), Finding::from_error(&why))),
    };
    report.name = target.as_ref().and_then(|it| it.name().map(str::to_owned));
    report.unreachable = survey.blocked.map(str::to_owned);
    let mut results = Results::of(survey.findings);
    results.take_in("HEL-01", &sink);

    if let (Some(target), None) = (target, survey.blocked) {
        if report.name.is_none() && !survey.surface.name.is_empty() {
            report.name = Some(survey.surface.name.clone());
        }
        let plan = Arc::new(Plan {
            target,
            surface: survey.surface,
            profile: options.profile,
            seed: options.seed,
            start: start.clone(),
            startup: options.startup,
            known: Known::default(),
        });
        report.fault = try_all(&plan, options, &progress, &mut results).await;
        let verdict = |check| results.verdict(check, &plan);
        report.outcomes = told_of(&options.selection).map(verdict).collect();
    } else {
        let blocker = survey.blocked.unwrap_or("MAN-01");
        let verdict = |check| results.blocked(check, blocker);
        report.outcomes = told_of(&options.selection).map(verdict).collect();
    }
    start.spawner.idle().await;
    report.took = began.elapsed();
    Ok(report)
}

fn told_of(selection: &Selection) -> impl Iterator<Item = &'static Check> {
    catalogue().filter(|check| selection.has(check.id, check.level))
}

/// What is known of each check so far.
#[derive(Default)]
struct Results {
    /// What the first start, or a frame anywhere, has shown.
    findings: HashMap<&'static str, Vec<Finding>>,
    tried: HashMap<&'static str, Tried>,
    seen: Seen,
}

/// How a trial ended.
struct Tried {
    verdict: Verdict,
    findings: Vec<Finding>,
    took: Duration,
    collected: Collected,
}

impl Results {
    fn of(findings: HashMap<&'static str, Vec<Finding>>) -> Self {
        Self {
            findings,
            ..Self::default()
        }
    }

    /// What the sessions of a check have shown about all of them.
    fn take_in(&mut self, id: &'static str, sink: &Sink) -> Collected {
        let mut collected = sink.lock().unwrap_or_else(PoisonError::into_inner);
        let mut collected = std::mem::take(&mut *collected);
        for Violation { check, finding } in collected.violations.drain(..) {
            let known = self.findings.entry(check).or_default();
            // The same mistake in every session is one mistake.
            if !known.iter().any(|it| it.what == finding.what) {
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

    fn verdict(&mut self, check: &'static Check, plan: &Plan) -> Outcome {
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
    fn blocked(&mut self, check: &'static Check, blocker: &str) -> Outcome {
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

fn failure(level: Level) -> Verdict {
    match level {
        Level::Must => Verdict::Fail,
        Level::Should => Verdict::Warn,
        Level::Info => Verdict::Pass,
    }
}

fn outcome(
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

/// Tries all that are selected, and all that those wait for. Gives the fault of the harness itself, if there was one.
async fn try_all(
    plan: &Arc<Plan>,
    options: &Options,
    progress: &Arc<dyn Progress>,
    results: &mut Results,
) -> Option<String> {
    let chosen = chosen(options);
    progress.begins(chosen.len());
    let ends: HashMap<&'static str, watch::Sender<Option<Verdict>>> = chosen
        .iter()
        .map(|check| (check.id, watch::Sender::new(None)))
        .collect();
    let slots = Arc::new(Semaphore::new(options.jobs.max(1)));
    let mut tasks = JoinSet::new();
    let mut names = HashMap::new();
    for check in chosen {
        let waits: Vec<_> = check
            .needs
            .iter()
            .chain(check.after)
            .filter_map(|id| Some((*id, ends.get(id)?.subscribe())))
            .collect();
        let (plan, progress) = (Arc::clone(plan), Arc::clone(progress));
        let (slots, keep_going) = (Arc::clone(&slots), options.keep_going);
        let task = tasks.spawn(async move {
            let mut verdicts = HashMap::new();
            for (id, mut end) in waits {
                // One that panicked has dropped its end; what it would have said is not known.
                if let Ok(verdict) = end.wait_for(Option::is_some).await {
                    verdicts.extend(verdict.clone().map(|verdict| (id, verdict)));
                }
            }
            let blocker = check.needs.iter().find(|id| {
                matches!(
                    verdicts.get(*id),
                    Some(Verdict::Fail | Verdict::BlockedBy(_))
                )
            });
            if let (Some(id), false) = (blocker, keep_going) {
                let root = match verdicts.get(id) {
                    Some(Verdict::BlockedBy(root)) => root.clone(),
                    _ => (*id).to_owned(),
                };
                return (check, blocked_by(root), Sink::default());
            }
            let _slot = slots.acquire().await;
            progress.tries(check.id);
            let cx = Cx::new(plan, verdicts);
            let tried = trial(check, &cx).await;
            (check, tried, cx.sink)
        });
        names.insert(task.id(), check.id);
    }
    let mut fault = None;
    while let Some(ended) = tasks.join_next().await {
        let (check, mut tried, sink) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let id = names.get(&error.id()).copied().unwrap_or("a check");
                fault = Some(format!("{id} panicked: {}", panic_text(error)));
                if let Some(end) = ends.get(id) {
                    end.send_replace(Some(Verdict::NotExercised));
                }
                continue;
            }
        };
        tried.collected = results.take_in(check.id, &sink);
        if let Some(end) = ends.get(check.id) {
            let broke = results.findings.contains_key(check.id);
            let verdict = if broke {
                failure(check.level)
            } else {
                tried.verdict.clone()
            };
            end.send_replace(Some(verdict));
        }
        let told = outcome(
            check,
            tried.verdict.clone(),
            Vec::new(),
            tried.took,
            Vec::new(),
        );
        progress.ended(&told);
        results.tried.insert(check.id, tried);
    }
    fault
}

fn panic_text(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()))
            .unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

/// What is tried: the selected, and whatever they wait for.
fn chosen(options: &Options) -> Vec<&'static Check> {
    let mut ids: Vec<&str> = told_of(&options.selection).map(|check| check.id).collect();
    let mut at = 0;
    while at < ids.len() {
        if let Some(check) = crate::check::find(ids[at]) {
            for id in check.needs.iter().chain(check.after) {
                if !ids.contains(id) {
                    ids.push(id);
                }
            }
        }
        at += 1;
    }
    catalogue()
        .filter(|check| matches!(check.run, Run::Tried(_)))
        .filter(|check| check.profile <= options.profile && ids.contains(&check.id))
        .collect()
}

async fn trial(check: &'static Check, cx: &Cx) -> Tried {
    let began = Instant::now();
    let Run::Tried(run) = &check.run else {
        unreachable!("only what is tried is chosen");
    };
    let (verdict, findings) = match run(cx).await {
        Ok(recorded) => (Verdict::Pass, recorded),
        Err(Stop::Broken(faults)) => (failure(check.level), said(faults)),
        Err(Stop::Weak(faults)) => (Verdict::Warn, said(faults)),
        Err(Stop::NotApplicable(why)) => (Verdict::NotApplicable, vec![Finding::new(why)]),
        Err(Stop::Withheld(why)) => (Verdict::Withheld, vec![Finding::new(why)]),
        Err(Stop::NotExercised(finding)) => (Verdict::NotExercised, vec![*finding]),
        Err(Stop::BlockedBy(id)) => (Verdict::BlockedBy(id.to_owned()), Vec::new()),
    };
    Tried {
        verdict,
        findings,
        took: began.elapsed(),
        collected: Collected::default(),
    }
}

fn said(faults: Vec<Fault>) -> Vec<Finding> {
    faults.into_iter().map(|fault| fault.finding).collect()
}

fn blocked_by(id: String) -> Tried {
    Tried {
        verdict: Verdict::BlockedBy(id),
        findings: Vec::new(),
        took: Duration::ZERO,
        collected: Collected::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, text, is) in [
            ("TOL-01", "TOL-01", true),
            ("tol-*", "TOL-01", true),
            ("*-01", "TOL-01", true),
            ("TOL-0?", "TOL-01", true),
            ("TOL", "TOL-01", false),
            ("*", "", true),
            ("transcript/*", "transcript/rain", true),
        ] {
            assert_eq!(matches_glob(glob, text), is, "{glob} {text}");
        }
    }

    /// A circle would wait for ever.
    fn depth(id: &str, left: usize) {
        assert!(left > 0, "{id} waits for itself");
        let check = crate::check::find(id).unwrap();
        for id in check.needs.iter().chain(check.after) {
            depth(id, left - 1);
        }
    }

    #[test]
    fn what_a_check_waits_for_exists_and_waits_for_nothing_after_it() {
        for check in catalogue() {
            for id in check.needs.iter().chain(check.after) {
                assert!(
                    crate::check::find(id).is_some(),
                    "{} waits for {id}",
                    check.id
                );
            }
        }
        for check in catalogue() {
            depth(check.id, 6);
        }
    }
}
