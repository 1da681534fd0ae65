//! Asks the interceptors of an event one after the other, within a time limit.

use std::time::Duration;

use tokio::time::Instant;
use zot_protocol::{Intercept, InterceptName, OnFailure, Tagged};

use super::fold::{Blocked, Failure, Fold, InterceptAnswer, Rights, Verdict};

/// An interceptor of an event: an extension, or a fake one in a test.
#[expect(unused_variables, reason = "the defaults are the same for all events")]
pub trait Interceptor {
    /// The interceptor's name.
    fn name(&self) -> &str;

    /// What to do with `event` if the interceptor fails.
    fn on_failure(&self, event: &InterceptName) -> OnFailure;

    /// Whether the interceptor may rewrite `event`. Default: yes.
    fn may_rewrite(&self, event: &InterceptName) -> bool {
        true
    }

    /// Whether the interceptor is in audit mode for `event`: it is asked, and its answer is recorded
    /// but not applied, even if it fails. Default: no.
    fn is_audited(&self, event: &InterceptName) -> bool {
        false
    }

    /// Whether this is a final interceptor of `event`, which is asked again if later interceptors
    /// have changed the event. Default: no.
    fn is_final(&self, event: &InterceptName) -> bool {
        false
    }

    /// How long the interceptor may take to answer, including the time to write the request.
    fn deadline(&self) -> Duration;

    /// Asks the interceptor about an event. If `is_final`, a final interceptor is asked for the
    /// second time, about the event as the whole chain left it. Fails with [`Failure::Timeout`] if
    /// it has not answered by the time `until`.
    fn ask(
        &self,
        event: &Intercept,
        is_final: bool,
        until: Instant,
    ) -> impl Future<Output = InterceptAnswer> + Send;
}

/// What one interceptor did to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterceptRecord {
    /// The extension.
    pub extension: String,
    /// What it did to the event.
    pub verdict: Verdict,
    /// How long it took; zero if it was not asked.
    pub latency: Duration,
    /// Whether the answer was only recorded, and not applied.
    pub is_audit: bool,
    /// Whether it was asked for the second time, as a final interceptor.
    pub is_final: bool,
    /// What it changed, as JSON pointers into the event.
    pub changed: Vec<String>,
    /// Why it blocked the event.
    pub reason: Option<String>,
    /// A remark for the log: the reason in an answer that does not block.
    pub note: Option<String>,
}

/// The result of a chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChainOutcome {
    /// The event as the interceptors left it, or which of them blocked it.
    pub result: Result<Intercept, Blocked>,
    /// A record for each interceptor that the chain reached, in order.
    pub records: Vec<InterceptRecord>,
    /// If the event was blocked: the event at that point. `None` if an interceptor that could have
    /// changed it was not asked.
    pub blocked: Option<Intercept>,
}

impl ChainOutcome {
    /// Creates the outcome of an event that the host itself blocks.
    pub(crate) fn refused(reason: &str) -> Self {
        let block = Blocked {
            by: "zot".to_owned(),
            reason: reason.to_owned(),
        };
        Self {
            result: Err(block),
            records: Vec::new(),
            blocked: None,
        }
    }

    /// Creates the outcome of an event that no interceptor is asked about.
    pub(crate) fn unasked(event: Intercept) -> Self {
        Self {
            result: Ok(event),
            records: Vec::new(),
            blocked: None,
        }
    }
}

/// Passes `event` through the interceptors in order, then asks the final ones again. Once `budget`
/// is used up, the remaining interceptors count as failed, and each one's failure policy applies.
pub async fn run<A: Interceptor>(
    interceptors: impl IntoIterator<Item = A>,
    event: Intercept,
    budget: Duration,
) -> ChainOutcome {
    let name = InterceptName::from(event.name());
    let mut time = TimeLimit {
        end: Instant::now() + budget,
        budget,
    };
    let mut fold = Fold::new(event);
    let mut records = Vec::new();
    // The final interceptors, and the event as each one left it.
    let mut finals = Vec::new();
    let mut interceptors = interceptors.into_iter();
    while !fold.is_blocked()
        && let Some(interceptor) = interceptors.next()
    {
        let asked = |until| interceptor.ask(fold.event(), false, until);
        let (answer, latency) = time.spend(interceptor.deadline(), asked).await;
        let rights = Rights {
            on_failure: interceptor.on_failure(&name),
            rewrite: interceptor.may_rewrite(&name),
        };
        time.forgive(&interceptor, &name, latency);
        let link = Link::new(&interceptor, &name, latency, &answer);
        records.push(link.apply(&mut fold, |fold, name| fold.answer(name, rights, answer)));
        if !fold.is_blocked() && interceptor.is_final(&name) {
            finals.push((interceptor, fold.event().clone()));
        }
    }
    let is_complete = interceptors.next().is_none();
    for (interceptor, left) in finals {
        if fold.is_blocked() {
            break;
        }
        if left == *fold.event() {
            continue;
        }
        let asked = |until| interceptor.ask(fold.event(), true, until);
        let (answer, latency) = time.spend(interceptor.deadline(), asked).await;
        let on_failure = interceptor.on_failure(&name);
        time.forgive(&interceptor, &name, latency);
        let mut link = Link::new(&interceptor, &name, latency, &answer);
        link.is_final = true;
        records.push(link.apply(&mut fold, |fold, name| {
            fold.final_answer(name, on_failure, answer)
        }));
    }
    let blocked = (is_complete && fold.is_blocked()).then(|| fold.event().clone());
    ChainOutcome {
        result: fold.finish(),
        records,
        blocked,
    }
}

/// An interceptor that has answered.
struct Link<'a> {
    name: &'a str,
    is_audit: bool,
    is_final: bool,
    latency: Duration,
    note: Option<String>,
}

impl<'a> Link<'a> {
    fn new(
        interceptor: &'a impl Interceptor,
        event: &InterceptName,
        latency: Duration,
        answer: &InterceptAnswer,
    ) -> Self {
        Self {
            name: interceptor.name(),
            is_audit: interceptor.is_audited(event),
            is_final: false,
            latency,
            note: note_of(answer),
        }
    }

    /// Applies the answer to the event, or in audit mode to a copy of it.
    fn apply(
        self,
        fold: &mut Fold,
        answer: impl FnOnce(&mut Fold, &str) -> Verdict,
    ) -> InterceptRecord {
        let mut copy = self.is_audit.then(|| fold.clone());
        let fold = copy.as_mut().unwrap_or(fold);
        let verdict = answer(fold, self.name);
        InterceptRecord {
            extension: self.name.to_owned(),
            verdict,
            latency: self.latency,
            is_audit: self.is_audit,
            is_final: self.is_final,
            changed: fold.take_changed(),
            reason: fold.block().map(|block| block.reason.clone()),
            note: self.note,
        }
    }
}

/// The time limit of a chain.
struct TimeLimit {
    end: Instant,
    budget: Duration,
}

impl TimeLimit {
    /// Extends the limit by the time that an interceptor in audit mode took: it must not cause the
    /// ones after it to fail.
    fn forgive(
        &mut self,
        interceptor: &impl Interceptor,
        event: &InterceptName,
        latency: Duration,
    ) {
        if interceptor.is_audited(event) {
            self.end += latency;
        }
    }

    /// Asks an interceptor within its own deadline and the chain's remaining time. Returns its
    /// answer and the latency.
    async fn spend<A: Future<Output = InterceptAnswer>>(
        &self,
        deadline: Duration,
        ask: impl FnOnce(Instant) -> A,
    ) -> (InterceptAnswer, Duration) {
        let start = Instant::now();
        if start >= self.end {
            return (Err(Failure::ChainTimeout(self.budget)), Duration::ZERO);
        }
        let own = start.checked_add(deadline);
        let until = own.map_or(self.end, |own| own.min(self.end));
        let answer = ask(until).await;
        // Report the time limit that the interceptor was given, not the time that was left when the
        // request was created.
        let answer = answer.map_err(|failure| match failure {
            Failure::Timeout(_) => Failure::Timeout(until - start),
            other => other,
        });
        (answer, start.elapsed())
    }
}

/// Returns the reason in an answer that does not block, which is a remark for the log.
fn note_of(answer: &InterceptAnswer) -> Option<String> {
    let response = answer.as_ref().ok()?;
    response.reason.clone().filter(|_| !response.block)
}
