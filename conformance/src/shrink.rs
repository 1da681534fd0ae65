//! Finds the smallest input that still fails: fewer frames first, then a simpler last frame.

mod case;
mod store;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use self::case::Case;
use crate::{
    check::{Fault, Plan},
    session::{Sink, WaitError},
    transcript::play::{Mode, play},
    verdict::Finding,
};

/// Time limit for shrinking one failure, before scaling.
const BUDGET: Duration = Duration::from_secs(3);
/// Maximum number of processes to start for one failure.
const MAX_TRIALS: usize = 60;
/// Timeout for a reply while shrinking. Waiting the full minute for a tool that normally replies
/// immediately would take too long; the result is confirmed with a longer timeout.
const REPLY_TIMEOUT: Duration = Duration::from_millis(400);
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(2);

/// How the extension fails. Shrinking must not turn one kind of failure into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    Exits,
    Silent,
}

/// Adds the smallest failing input and the command that reproduces it to the finding of a fault. A
/// fault that is not about a missing reply, or that cannot be reproduced, stays unchanged.
pub(crate) async fn shrink_fault(plan: &Plan, check: &str, fault: Fault) -> Finding {
    let Fault {
        mut finding, case, ..
    } = fault;
    let Some(case) = Case::of(plan, case) else {
        return finding;
    };
    let Some(smallest) = smallest(plan, case).await else {
        return finding;
    };
    finding.input = Some(smallest.input());
    if let Some(id) = store::save_case(plan, check, &finding, &smallest) {
        finding.repeat = Some(format!("zot-conform replay {id}"));
    }
    finding
}

async fn smallest(plan: &Plan, case: Case) -> Option<Case> {
    let timeout = timeout(plan, &case);
    let began = Instant::now();
    let budget = BUDGET.mul_f64(plan.start.scale);
    let kind = fails(plan, &case, timeout).await?;
    let mut tried = HashSet::from([case.input()]);
    let mut current = case.clone();
    'smaller: loop {
        for candidate in current.fewer().into_iter().chain(current.simpler(plan)) {
            if !tried.insert(candidate.input()) {
                continue;
            }
            if tried.len() > MAX_TRIALS || began.elapsed() >= budget {
                break 'smaller;
            }
            if fails(plan, &candidate, timeout).await == Some(kind) {
                current = candidate;
                continue 'smaller;
            }
        }
        break;
    }
    if kind == FailureKind::Silent && current != case {
        // Confirm the result with a longer timeout: the extension may only have been slow on a busy
        // machine.
        let timeout = CONFIRM_TIMEOUT.mul_f64(plan.start.scale).max(timeout);
        if fails(plan, &current, timeout).await != Some(kind) {
            return Some(case);
        }
    }
    Some(current)
}

/// Returns how the extension fails on this input; `None` if it replies.
async fn fails(plan: &Plan, case: &Case, timeout: Duration) -> Option<FailureKind> {
    // Playing a transcript scales its deadlines, so undo the scaling here.
    let within = timeout.div_f64(plan.start.scale);
    let transcript = case.transcript(within);
    let mut stage = plan.stage();
    let start = crate::session::Start {
        observer: None,
        ..plan.start.clone()
    };
    stage.start = &start;
    let played = play(stage, &transcript, "", Mode::Probe, Sink::default()).await;
    match played.failure?.wait_error? {
        WaitError::Exited(_) => Some(FailureKind::Exits),
        _ => Some(FailureKind::Silent),
    }
}

/// Returns four times the usual latency of the tool, but at least [`REPLY_TIMEOUT`] and at most the
/// timeout of the case.
fn timeout(plan: &Plan, case: &Case) -> Duration {
    let known = plan.known.latency.lock();
    let usual = known.get(case.tool()).copied().unwrap_or_default();
    let least = REPLY_TIMEOUT.mul_f64(plan.start.scale);
    (usual * 4)
        .max(least)
        .min(case.limit.mul_f64(plan.start.scale))
}
