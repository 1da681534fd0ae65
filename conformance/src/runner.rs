//! Runs the checks: each when those it waits for have ended, more of them at once than there are cores, since most of
//! them wait.

mod repeat;
mod results;
mod selection;
mod transcripts;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use zot_process::Spawner;

use crate::{
    check::{Check, Cx, Fault, Known, Plan, Profile, REACHES, Run, Stop, catalogue},
    report::Report,
    session::{Collected, Onlooker, Sink, Start},
    shrink,
    survey::{Survey, survey},
    target::{Target, Unstartable},
    transcript::Script,
    verdict::{Finding, Outcome, Verdict},
};

pub use repeat::quoted;
pub use selection::Selection;

use results::{Results, Tried, failure, outcome};

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
    /// What is played after the checks, as far as it is selected.
    pub transcripts: Vec<Script>,
    /// Where failures are kept, to be repeated by name; `None`: nowhere.
    pub store: Option<PathBuf>,
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
            transcripts: Vec::new(),
            store: None,
        }
    }
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

/// Runs every check that is selected, then plays every transcript that is.
pub async fn run(
    target: Result<Target, Unstartable>,
    shown: &str,
    options: &Options,
    progress: Arc<dyn Progress>,
) -> std::io::Result<Report> {
    let began = Instant::now();
    let is_command = matches!(&target, Ok(target) if target.manifest.is_none());
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
            store: options.store.clone(),
            known: Known::default(),
        });
        report.fault = try_all(&plan, options, &progress, &mut results).await;
        let verdict = |check| results.verdict(check, &plan);
        report.outcomes = told_of(&options.selection).map(verdict).collect();
        match transcripts::play_all(&plan, options, &progress).await {
            Ok(played) => report.outcomes.extend(played),
            Err(fault) => report.fault = Some(fault),
        }
    } else {
        let blocker = survey.blocked.unwrap_or("MAN-01");
        let verdict = |check| results.blocked(check, blocker);
        // What blocks the rest is told of, selected or not.
        let told = catalogue()
            .filter(|check| check.id == blocker || options.selection.has(check.id, check.level));
        report.outcomes = told.map(verdict).collect();
        report
            .outcomes
            .extend(transcripts::blocked(options, blocker));
    }
    let sources = &results.sources;
    repeat::give(&mut report.outcomes, sources, shown, is_command, options);
    start.spawner.idle().await;
    report.took = began.elapsed();
    Ok(report)
}

fn told_of(selection: &Selection) -> impl Iterator<Item = &'static Check> {
    catalogue().filter(|check| selection.has(check.id, check.level))
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
    let watched = |check: &Check| matches!(check.run, Run::Watched(_));
    if told_of(&options.selection).any(watched) {
        // There is nothing to watch unless something is asked.
        ids.extend(REACHES);
    }
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
        Err(Stop::Broken(faults)) => (failure(check.level), said(check, cx, faults).await),
        Err(Stop::Weak(faults)) => (Verdict::Warn, said(check, cx, faults).await),
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

/// The first is shrunk: it is the one that a reader begins with.
async fn said(check: &Check, cx: &Cx, faults: Vec<Fault>) -> Vec<Finding> {
    let mut faults = faults.into_iter();
    let mut said = Vec::new();
    if let Some(first) = faults.next() {
        said.push(shrink::shrink_fault(&cx.plan, check.id, first).await);
    }
    said.extend(faults.map(|fault| fault.finding));
    said
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
