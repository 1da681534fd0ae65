//! The smallest input that still fails: fewer frames first, then less in the last one.

mod case;
mod store;

use std::{
    collections::HashSet,
    sync::PoisonError,
    time::{Duration, Instant},
};

use self::case::Case;
use crate::{
    check::{Fault, Plan},
    session::{Silence, Sink},
    transcript::play::{Mode, play},
    verdict::Finding,
};

/// How long is spent on one failure, scaled.
const BUDGET: Duration = Duration::from_secs(3);
/// How many processes are started for one failure.
const TRIALS: usize = 60;
/// After how long without a reply it counts as silent while it is shrunk: a tool that is known to answer at once, and
/// then does not for so long, is not waited for a minute. What is kept is tried again with more patience.
const PATIENCE: Duration = Duration::from_millis(400);
const MORE_PATIENCE: Duration = Duration::from_secs(2);

/// How it fails. One failure is not shrunk into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ends,
    Silent,
}

/// What a fault says, with the smallest input that leads to it and the command that repeats that. A fault that is not
/// that of a request without a reply, or that does not come again, stays as it is.
pub(crate) async fn told(plan: &Plan, check: &str, fault: Fault) -> Finding {
    let Fault { mut finding, case } = fault;
    let Some(case) = Case::of(plan, case) else {
        return finding;
    };
    let Some(smallest) = smallest(plan, case).await else {
        return finding;
    };
    finding.input = Some(smallest.input());
    if let Some(id) = store::keep(plan, check, &finding, &smallest) {
        finding.repeat = Some(format!("zot-conform replay {id}"));
    }
    finding
}

async fn smallest(plan: &Plan, case: Case) -> Option<Case> {
    let patience = patience(plan, &case);
    let began = Instant::now();
    let budget = BUDGET.mul_f64(plan.start.scale);
    let kind = fails(plan, &case, patience).await?;
    let mut tried = HashSet::from([case.input()]);
    let mut current = case.clone();
    'smaller: loop {
        for candidate in current.fewer().into_iter().chain(current.simpler(plan)) {
            if !tried.insert(candidate.input()) {
                continue;
            }
            if tried.len() > TRIALS || began.elapsed() >= budget {
                break 'smaller;
            }
            if fails(plan, &candidate, patience).await == Some(kind) {
                current = candidate;
                continue 'smaller;
            }
        }
        break;
    }
    if kind == Kind::Silent && current != case {
        // A busy machine is silent, too.
        let patience = MORE_PATIENCE.mul_f64(plan.start.scale).max(patience);
        if fails(plan, &current, patience).await != Some(kind) {
            return Some(case);
        }
    }
    Some(current)
}

/// How this input fails; `None` where it is answered.
async fn fails(plan: &Plan, case: &Case, patience: Duration) -> Option<Kind> {
    // The deadline of a transcript is scaled when it is played.
    let within = patience.div_f64(plan.start.scale);
    let transcript = case.transcript(within);
    let mut stage = plan.stage();
    let start = crate::session::Start {
        onlooker: None,
        ..plan.start.clone()
    };
    stage.start = &start;
    let played = play(stage, &transcript, "", Mode::Probe, Sink::default()).await;
    match played.failure?.silence? {
        Silence::Exited(_) => Some(Kind::Ends),
        _ => Some(Kind::Silent),
    }
}

/// Four times what it takes as a rule, and no less than [`PATIENCE`].
fn patience(plan: &Plan, case: &Case) -> Duration {
    let known = plan.known.latency.lock();
    let known = known.unwrap_or_else(PoisonError::into_inner);
    let usual = known.get(case.tool()).copied().unwrap_or_default();
    let least = PATIENCE.mul_f64(plan.start.scale);
    (usual * 4)
        .max(least)
        .min(case.limit.mul_f64(plan.start.scale))
}
