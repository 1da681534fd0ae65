//! Asks the subscribers of an event one after the other, within the chain's time.

use std::time::Duration;

use tokio::time::Instant;
use zot_protocol::{Intercept, InterceptName, OnFailure, Tagged};

use super::fold::{Answer, Block, Failure, Fold, Verdict};

/// Something that can be asked about an event: an extension, or what a test puts in its place.
pub trait Ask {
    /// Its name.
    fn name(&self) -> &str;

    /// What its failure means for `event`.
    fn on_failure(&self, event: &InterceptName) -> OnFailure;

    /// How long it may take, the write included.
    fn deadline(&self) -> Duration;

    /// Asks it, until a time: no answer by then is a [`Failure::Timeout`].
    fn ask(&self, event: &Intercept, until: Instant) -> impl Future<Output = Answer> + Send;
}

/// What one link of a chain did, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The extension.
    pub extension: String,
    /// What it did to the event.
    pub verdict: Verdict,
    /// How long it took; nothing for one that was not asked.
    pub latency: Duration,
    /// What it said without blocking, for the log.
    pub note: Option<String>,
}

/// What became of an event, and how.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The event as the links left it, or who refused it.
    pub result: Result<Intercept, Block>,
    /// Every link that the chain reached, in order.
    pub links: Vec<Link>,
}

impl Outcome {
    /// Of an event that nobody is asked about.
    pub(crate) fn unasked(event: Intercept) -> Self {
        Self {
            result: Ok(event),
            links: Vec::new(),
        }
    }
}

/// Runs `event` through `links` in their order. After `budget` the links that are left are failures, each under its
/// own policy.
pub async fn run<A: Ask>(
    links: impl IntoIterator<Item = A>,
    event: Intercept,
    budget: Duration,
) -> Outcome {
    let name = InterceptName::from(event.name());
    let end = Instant::now() + budget;
    let mut fold = Fold::new(event);
    let mut records = Vec::new();
    for link in links {
        let start = Instant::now();
        let answer = if start >= end {
            Err(Failure::ChainTimeout(budget))
        } else {
            let own = start.checked_add(link.deadline());
            let until = own.map_or(end, |own| own.min(end));
            let answer = link.ask(fold.event(), until).await;
            // The time it had, not what was left of it when its own clock began.
            answer.map_err(|failure| match failure {
                Failure::Timeout(_) => Failure::Timeout(until - start),
                other => other,
            })
        };
        let note = answer
            .as_ref()
            .ok()
            .filter(|response| !response.block)
            .and_then(|response| response.reason.clone());
        let verdict = fold.answer(link.name(), link.on_failure(&name), answer);
        records.push(Link {
            extension: link.name().to_owned(),
            verdict,
            latency: start.elapsed(),
            note,
        });
        if fold.is_blocked() {
            break;
        }
    }
    Outcome {
        result: fold.finish(),
        links: records,
    }
}
