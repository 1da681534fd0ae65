//! Runs the checks, each after the checks that it depends on. More checks may run in parallel than
//! there are cores, because they mostly wait for the extension.

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

use crate::{
    check::{Check, Cx, Known, Plan, Profile, REACHES, Run, Stop, catalogue},
    report::Report,
    session::{Observer, Sink, Start},
    shrink,
    survey::{Survey, survey},
    target::{Target, Unstartable},
    transcript::Script,
    verdict::{Finding, Verdict},
};

pub use repeat::quoted;
pub use selection::Selection;

use results::{Results, Tried, failure, judged};

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// How thorough the run is.
    pub profile: Profile,
    /// The seed for random arguments.
    pub seed: u64,
    /// Multiplies every timeout.
    pub scale: f64,
    /// The timeout for `hello`; `None` uses the manifest's or the protocol's.
    pub startup: Option<Duration>,
    /// How long to wait for a reply; `None` uses the manifest's timeout or a few seconds.
    pub reply_timeout: Option<Duration>,
    /// The number of checks to run in parallel.
    pub jobs: usize,
    /// Which checks are reported.
    pub selection: Selection,
    /// Whether a warning fails the run.
    pub strict: bool,
    /// Whether to run checks even if a failed check blocks them.
    pub keep_going: bool,
    /// Called for every entry of every session.
    pub observer: Option<Observer>,
    /// The transcripts to replay after the checks.
    pub transcripts: Vec<Script>,
    /// Where failures are saved for replay; `None` saves nothing.
    pub store: Option<PathBuf>,
}

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// Adds to the number of checks to run.
    fn add_total(&self, checks: usize);
    /// A check has started.
    fn started(&self, id: &str);
    /// A check has been waiting for `what` for a while. Before the first check, the id is empty.
    fn waiting(&self, id: &str, what: &str);
    /// A check has finished.
    fn finished(&self, id: &str);
}

/// Runs the selected checks, then replays the selected transcripts.
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
    let start = Start::new(options.scale, options.startup, options.observer.clone())?;
    let sink = Sink::default();
    let (target, survey) = match target {
        Ok(target) => {
            progress.waiting("", "`hello` and the registrations");
            let survey = survey(&target, &start, &sink).await;
            (Some(target), survey)
        }
        Err(why) => (None, Survey::unstartable(&why)),
    };
    report.name = target.as_ref().and_then(|it| it.name().map(str::to_owned));
    let blocker = blocker(&survey);
    report.unreachable = blocker.map(str::to_owned);
    let mut results = Results::default();
    results.take_in_survey(&sink);

    if let (Some(target), None) = (target, blocker) {
        if report.name.is_none() && !survey.surface.name.is_empty() {
            report.name = Some(survey.surface.name.clone());
        }
        let plan = Arc::new(Plan {
            target,
            survey,
            profile: options.profile,
            seed: options.seed,
            start: start.clone(),
            reply_timeout: options.reply_timeout,
            store: options.store.clone(),
            known: Known::default(),
        });
        report.fault = try_all(&plan, options, &progress, &mut results).await;
        let outcome = |check| results.outcome(check, &plan.survey, None);
        report.outcomes = selected_checks(&options.selection).map(outcome).collect();
        match transcripts::play_all(&plan, options, &progress).await {
            Ok(played) => report.outcomes.extend(played),
            Err(fault) => report.fault = Some(fault),
        }
    } else {
        let blocker = blocker.unwrap_or_default();
        let outcome = |check| results.outcome(check, &survey, Some(blocker));
        // Report the blocking check even if it is not selected.
        let reported = catalogue()
            .filter(|check| check.id == blocker || options.selection.has(check.id, check.level));
        report.outcomes = reported.map(outcome).collect();
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

/// Returns the check whose failure at the first start prevents all others from running.
fn blocker(survey: &Survey) -> Option<&'static str> {
    let failed = |check: &&Check| match check.run {
        Run::Surveyed(judge) => matches!(judge(survey), Some(Err(Stop::Broken(_)))),
        _ => false,
    };
    let failed = survey
        .registered()
        .is_none()
        .then(|| catalogue().find(failed));
    failed.flatten().map(|check| check.id)
}

fn selected_checks(selection: &Selection) -> impl Iterator<Item = &'static Check> {
    catalogue().filter(|check| selection.has(check.id, check.level))
}

/// Runs the selected checks and their dependencies. Returns an internal error, if there was one.
async fn try_all(
    plan: &Arc<Plan>,
    options: &Options,
    progress: &Arc<dyn Progress>,
    results: &mut Results,
) -> Option<String> {
    let chosen = chosen(options);
    progress.add_total(chosen.len());
    let ends: HashMap<&'static str, watch::Sender<Option<Verdict>>> = chosen
        .iter()
        .map(|check| (check.id, watch::Sender::new(None)))
        .collect();
    let slots = Arc::new(Semaphore::new(options.jobs.max(1)));
    let mut tasks = JoinSet::new();
    let mut names = HashMap::new();
    for check in chosen {
        let waits = check.waits_for();
        let waits: Vec<_> = waits
            .filter_map(|id| Some((id, ends.get(id)?.subscribe())))
            .collect();
        let (plan, progress) = (Arc::clone(plan), Arc::clone(progress));
        let (slots, keep_going) = (Arc::clone(&slots), options.keep_going);
        let task = tasks.spawn(async move {
            let mut verdicts = HashMap::new();
            for (id, mut end) in waits {
                // This cannot fail, because the senders live longer than the tasks.
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
                let tried = Tried::new(Verdict::BlockedBy(root), Vec::new(), Duration::ZERO);
                return (check, tried, Sink::default());
            }
            let _slot = slots.acquire().await;
            progress.started(check.id);
            let cx = Cx::new(check.id, plan, Arc::clone(&progress), verdicts);
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
                if let (Some(end), Some(check)) = (ends.get(id), crate::check::find(id)) {
                    end.send_replace(Some(Verdict::NotExercised));
                    progress.finished(id);
                    let finding = Finding::new("the check itself failed; please report this");
                    let tried = Tried::new(Verdict::NotExercised, vec![finding], Duration::ZERO);
                    results.tried.insert(check.id, tried);
                }
                continue;
            }
        };
        tried.exchanges = results.take_in(check.id, &sink);
        if let Some(end) = ends.get(check.id) {
            let broke = results.findings.contains_key(check.id);
            let verdict = if broke {
                failure(check.level)
            } else {
                tried.verdict.clone()
            };
            end.send_replace(Some(verdict));
        }
        progress.finished(check.id);
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

/// The checks to run: the selected ones and their dependencies.
fn chosen(options: &Options) -> Vec<&'static Check> {
    let mut ids: Vec<&str> = selected_checks(&options.selection)
        .map(|check| check.id)
        .collect();
    let watched = |check: &Check| matches!(check.run, Run::Watched(..));
    if selected_checks(&options.selection).any(watched) {
        // These checks only judge frames, so also run the checks that make the extension send some.
        ids.extend(REACHES);
    }
    let mut at = 0;
    while at < ids.len() {
        if let Some(check) = crate::check::find(ids[at]) {
            for id in check.waits_for() {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        at += 1;
    }
    catalogue()
        .filter(|check| check.trial().is_some())
        .filter(|check| check.profile <= options.profile && ids.contains(&check.id))
        .collect()
}

async fn trial(check: &'static Check, cx: &Cx) -> Tried {
    let began = Instant::now();
    let trial = check
        .trial()
        .expect("only checks that send requests are chosen");
    let mut checked = trial(cx).await;
    if let Err(Stop::Broken(faults) | Stop::Weak(faults)) = &mut checked
        && faults.first().is_some_and(|fault| !fault.is_open)
    {
        // Shrink only the first fault, because people read it first.
        let first = faults.remove(0);
        let shrunk = shrink::shrink_fault(&cx.plan, check.id, first).await;
        faults.insert(0, shrunk.into());
    }
    let (verdict, findings) = judged(check, checked);
    Tried::new(verdict, findings, began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics if `id` is in a dependency cycle: its checks would wait for each other forever.
    fn depth(id: &str, left: usize) {
        assert!(left > 0, "{id} depends on itself");
        let check = crate::check::find(id).unwrap();
        for id in check.waits_for() {
            depth(id, left - 1);
        }
    }

    #[test]
    fn dependencies_exist_and_have_no_cycles() {
        for check in catalogue() {
            for id in check.waits_for() {
                assert!(
                    crate::check::find(id).is_some(),
                    "{} depends on unknown {id}",
                    check.id
                );
            }
        }
        for check in catalogue() {
            depth(check.id, 6);
        }
    }
}
