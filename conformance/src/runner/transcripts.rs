//! Replays the transcripts of an extension, each with its own process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::{Options, Progress, repeat};
use crate::{
    check::{Plan, find},
    session::{Collected, Sink},
    transcript::{
        Script,
        play::{Mode, Stage, missing, play},
    },
    verdict::{Finding, Level, Outcome, Verdict},
};

/// The id of a transcript in a report.
pub(super) fn id(script: &Script) -> String {
    format!("transcript/{}", script.name())
}

/// The selected transcripts.
pub(super) fn chosen(options: &Options) -> Vec<&Script> {
    let has = |script: &&Script| options.selection.has(&id(script), Level::Must);
    options.transcripts.iter().filter(has).collect()
}

/// Replays the selected transcripts and returns the outcomes in order, or an internal error.
pub(super) async fn play_all(
    plan: &Arc<Plan>,
    options: &Options,
    progress: &Arc<dyn Progress>,
) -> Result<Vec<Outcome>, String> {
    let chosen = chosen(options);
    progress.add_total(chosen.len());
    let room = Arc::new(Semaphore::new(options.jobs.max(1)));
    let mut tasks = JoinSet::new();
    for (place, script) in chosen.into_iter().enumerate() {
        let (plan, room) = (Arc::clone(plan), Arc::clone(&room));
        let (script, progress) = (script.clone(), Arc::clone(progress));
        tasks.spawn(async move {
            let _room = room.acquire().await;
            progress.started(&id(&script));
            let outcome = of(&plan, &script).await;
            progress.finished(&outcome.id);
            (place, outcome)
        });
    }
    let mut outcomes = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(ended) => outcomes.push(ended),
            Err(error) => {
                return Err(format!(
                    "cannot replay a transcript: {}",
                    super::panic_text(error)
                ));
            }
        }
    }
    outcomes.sort_by_key(|(place, _)| *place);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// The outcomes of a run that `blocker` stopped before any transcript was replayed.
pub(super) fn blocked(options: &Options, blocker: &str) -> Vec<Outcome> {
    let unplayed = |script| {
        let verdict = Verdict::BlockedBy(blocker.to_owned());
        outcome(script, verdict, Vec::new(), Duration::ZERO)
    };
    chosen(options).into_iter().map(unplayed).collect()
}

impl Plan {
    /// The stage for replaying a transcript.
    pub(crate) fn stage(&self) -> Stage<'_> {
        Stage {
            target: &self.target,
            start: &self.start,
            surface: &self.survey.surface,
        }
    }
}

async fn of(plan: &Plan, script: &Script) -> Outcome {
    let missing = missing(&script.transcript.head.needs, &plan.survey.surface);
    if !missing.is_empty() {
        let why = format!("it does not register {}", missing.join(", "));
        let why = vec![Finding::new(why)];
        return outcome(script, Verdict::NotApplicable, why, Duration::ZERO);
    }
    let began = Instant::now();
    let sink = Sink::default();
    let label = match repeat::kept(script, plan.store.as_deref()) {
        Some(id) => id,
        None => script.path.display().to_string(),
    };
    let transcript = &script.transcript;
    let played = play(
        plan.stage(),
        transcript,
        &label,
        Mode::Strict,
        Arc::clone(&sink),
    );
    let failure = played.await.failure;
    let differs = failure.as_ref().is_some_and(|it| it.wait_error.is_none());
    let Collected {
        exchanges,
        violations,
        ..
    } = std::mem::take(&mut *sink.lock());
    let mut verdict = match failure {
        Some(_) => Verdict::Fail,
        None => Verdict::Pass,
    };
    let mut findings: Vec<Finding> = failure.into_iter().map(|it| it.finding).collect();
    // Frames in a replay must also follow the rules of the checks.
    for violation in violations {
        let level = find(violation.check).map_or(Level::Must, |check| check.level);
        let finding = violation.into_finding();
        verdict = match (level, verdict) {
            (Level::Must, _) | (_, Verdict::Fail) => Verdict::Fail,
            (Level::Should, _) => Verdict::Warn,
            (Level::Info, verdict) => verdict,
        };
        if !findings.iter().any(|known| known.what == finding.what) {
            findings.push(finding);
        }
    }
    if matches!(verdict, Verdict::Fail | Verdict::Warn)
        && let Some(first) = findings.first_mut()
    {
        let store = plan.store.as_deref();
        first.repeat = Some(repeat::replay(script, &plan.target, store));
        if let (true, None) = (differs, &first.hint) {
            let accept = repeat::accept(script, &plan.target, store);
            first.hint = accept.map(|it| format!("if the new output is right, run `{it}`"));
        }
    }
    let mut outcome = outcome(script, verdict, findings, began.elapsed());
    outcome.exchanges = exchanges;
    outcome
}

fn outcome(script: &Script, verdict: Verdict, findings: Vec<Finding>, took: Duration) -> Outcome {
    let about = script.transcript.head.about.clone();
    Outcome {
        id: id(script),
        level: Level::Must,
        title: about.unwrap_or_else(|| "matches the transcript".to_owned()),
        verdict,
        findings,
        took,
        exchanges: Vec::new(),
        known: false,
    }
}
