//! Asks the subscribers of an event one after the other, within the chain's time.

use std::time::Duration;

use tokio::time::Instant;
use zot_protocol::{Intercept, InterceptName, OnFailure, Tagged};

use super::fold::{Answer, Block, Failure, Fold, Rights, Verdict};

/// Something that can be asked about an event: an extension, or what a test puts in its place.
pub trait Ask {
    /// Its name.
    fn name(&self) -> &str;

    /// What its failure means for `event`.
    fn on_failure(&self, event: &InterceptName) -> OnFailure;

    /// Whether it may rewrite `event`. By default, it may.
    fn may_rewrite(&self, event: &InterceptName) -> bool {
        let _ = event;
        true
    }

    /// Whether it has the last word on `event`: it is asked again when later links have changed what it left behind. By
    /// default, it has not.
    fn is_final(&self, event: &InterceptName) -> bool {
        let _ = event;
        false
    }

    /// How long it may take, the write included.
    fn deadline(&self) -> Duration;

    /// Asks it, until a time: no answer by then is a [`Failure::Timeout`].
    fn ask(&self, event: &Intercept, until: Instant) -> impl Future<Output = Answer> + Send;

    /// Asks it for its last word on an event that it has been asked about before. By default, just as before.
    fn ask_last(&self, event: &Intercept, until: Instant) -> impl Future<Output = Answer> + Send {
        self.ask(event, until)
    }
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

impl Link {
    fn new(extension: &str, verdict: Verdict, latency: Duration, note: Option<String>) -> Self {
        Self {
            extension: extension.to_owned(),
            verdict,
            latency,
            note,
        }
    }
}

impl Outcome {
    /// Of an event that the host itself refuses.
    pub(crate) fn refused(reason: &str) -> Self {
        let block = Block {
            by: "zot".to_owned(),
            reason: reason.to_owned(),
        };
        Self {
            result: Err(block),
            links: Vec::new(),
        }
    }

    /// Of an event that nobody is asked about.
    pub(crate) fn unasked(event: Intercept) -> Self {
        Self {
            result: Ok(event),
            links: Vec::new(),
        }
    }
}

/// Runs `event` through `links` in their order, then past those that have the last word. After `budget` the links that
/// are left have failed, each under its own policy.
pub async fn run<A: Ask>(
    links: impl IntoIterator<Item = A>,
    event: Intercept,
    budget: Duration,
) -> Outcome {
    let name = InterceptName::from(event.name());
    let time = Budget {
        end: Instant::now() + budget,
        budget,
    };
    let mut fold = Fold::new(event);
    let mut records = Vec::new();
    // Those with the last word, and what each left behind.
    let mut finals = Vec::new();
    for link in links {
        let asked = |until| link.ask(fold.event(), until);
        let (answer, latency) = time.spend(link.deadline(), asked).await;
        let note = note_of(&answer);
        let rights = Rights {
            on_failure: link.on_failure(&name),
            rewrite: link.may_rewrite(&name),
        };
        let verdict = fold.answer(link.name(), rights, answer);
        records.push(Link::new(link.name(), verdict, latency, note));
        if fold.is_blocked() {
            break;
        }
        if link.is_final(&name) {
            finals.push((link, fold.event().clone()));
        }
    }
    for (link, left) in finals {
        if fold.is_blocked() {
            break;
        }
        if left == *fold.event() {
            continue;
        }
        let asked = |until| link.ask_last(fold.event(), until);
        let (answer, latency) = time.spend(link.deadline(), asked).await;
        let note = note_of(&answer);
        let verdict = fold.last_word(link.name(), link.on_failure(&name), answer);
        records.push(Link::new(link.name(), verdict, latency, note));
    }
    Outcome {
        result: fold.finish(),
        links: records,
    }
}

/// The time of one chain.
struct Budget {
    end: Instant,
    budget: Duration,
}

impl Budget {
    /// Asks a link within its own deadline and what is left for the chain. Returns its answer and how long that took.
    async fn spend<A: Future<Output = Answer>>(
        &self,
        deadline: Duration,
        ask: impl FnOnce(Instant) -> A,
    ) -> (Answer, Duration) {
        let start = Instant::now();
        if start >= self.end {
            return (Err(Failure::ChainTimeout(self.budget)), Duration::ZERO);
        }
        let own = start.checked_add(deadline);
        let until = own.map_or(self.end, |own| own.min(self.end));
        let answer = ask(until).await;
        // The time it had, not what was left of it when its own clock began.
        let answer = answer.map_err(|failure| match failure {
            Failure::Timeout(_) => Failure::Timeout(until - start),
            other => other,
        });
        (answer, start.elapsed())
    }
}

/// A reason without a block is a remark for the log.
fn note_of(answer: &Answer) -> Option<String> {
    let response = answer.as_ref().ok()?;
    response.reason.clone().filter(|_| !response.block)
}
