//! Pending requests by id, each with its deadline. An id is a number here and a string of decimal
//! digits on the wire.
//!
//! All requests share the connection's timer. Nearly all of them are answered before their
//! deadline, so separate timers would almost never fire.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use zot_protocol::{CommandResponse, EventInterceptResponse, Id, ToolResult, validate::Refusal};

use super::call_chain::CallChain;

/// How many unread progress lines to keep.
const PROGRESS_LINES: usize = 64;

/// Why a request got no valid reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No reply within the deadline.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The extension has exited or never started.
    #[error("{0}")]
    Closed(String),
    /// The reply is invalid.
    #[error("its answer is invalid: {0}")]
    Refused(Box<Refusal>),
    /// The extension sent a line over the size limit, which may have been the reply.
    #[error("it sent a line longer than {0} bytes")]
    LineTooLong(usize),
    /// The extension's queue is full.
    #[error("it is not reading its input")]
    QueueFull,
    /// The request is too large for a frame.
    #[error("the request is {bytes} bytes, over the frame limit of {limit}")]
    TooLarge {
        /// The size of the request.
        bytes: usize,
        /// The size limit of a frame.
        limit: usize,
    },
}

/// A reply to a request.
#[derive(Debug)]
pub(crate) enum Reply {
    Command(CommandResponse),
    Tool(ToolResult),
    Intercept(EventInterceptResponse),
}

/// The type of a request, which its reply must match.
#[derive(Debug, Clone)]
pub(crate) enum RequestKind {
    Command,
    /// A tool call, with the call chain that it belongs to.
    Tool(CallChain),
    Intercept,
}

impl Reply {
    /// The id of the request that this reply answers.
    pub(crate) fn id(&self) -> &Id {
        match self {
            Self::Command(response) => &response.id,
            Self::Tool(result) => &result.id,
            Self::Intercept(response) => &response.id,
        }
    }
}

impl RequestKind {
    fn is_answered_by(&self, reply: &Reply) -> bool {
        matches!(
            (self, reply),
            (Self::Command, Reply::Command(_))
                | (Self::Tool(_), Reply::Tool(_))
                | (Self::Intercept, Reply::Intercept(_))
        )
    }
}

pub(crate) type RequestResult = Result<Reply, RequestError>;

/// An update on a pending request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "short-lived on the stack, and nearly always the large variant"
)]
pub(crate) enum Update {
    /// A progress line from a running tool call.
    Progress(String),
    /// The result. Nothing follows.
    Done(RequestResult),
}

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTimer {
    /// The time limit, which restarts after each progress line.
    each: Duration,
    total: Duration,
    start: Instant,
    until: Option<Instant>,
}

impl RequestTimer {
    /// Creates a timer with the limit `each`, which restarts after each progress line until `total`
    /// has passed.
    pub(crate) fn new(each: Duration, total: Duration) -> Self {
        let start = Instant::now();
        let timer = Self {
            each,
            total,
            start,
            until: None,
        };
        timer.restarted(start)
    }

    /// Creates a timer without a limit.
    pub(crate) fn unlimited() -> Self {
        Self {
            each: Duration::MAX,
            total: Duration::MAX,
            start: Instant::now(),
            until: None,
        }
    }

    fn restarted(self, now: Instant) -> Self {
        // A sum that overflows is too far in the future to matter.
        let until = [
            now.checked_add(self.each),
            self.start.checked_add(self.total),
        ];
        Self {
            until: until.into_iter().flatten().min(),
            ..self
        }
    }

    /// Returns the limit that has been exceeded, if any.
    fn expired(&self, now: Instant) -> Option<Duration> {
        let until = self.until.filter(|&until| until <= now)?;
        let in_all = self.start.checked_add(self.total) == Some(until);
        Some(if in_all { self.total } else { self.each })
    }
}

struct PendingRequest {
    kind: RequestKind,
    timer: RequestTimer,
    progress: VecDeque<String>,
    outcome: Option<RequestResult>,
    waker: Waker,
}

impl PendingRequest {
    /// Sets the outcome. Returns the waker of the caller, to be woken after the lock is released.
    fn settle(&mut self, outcome: RequestResult) -> Waker {
        self.outcome = Some(outcome);
        std::mem::replace(&mut self.waker, Waker::noop().clone())
    }
}

/// The pending requests of one connection. Ids are never reused.
pub(crate) struct Pending(Mutex<PendingState>);

struct PendingState {
    requests: HashMap<u64, PendingRequest>,
    /// When to check the deadlines. This may be too early, in which case it is set again, but never
    /// too late.
    next_check: Option<Instant>,
    /// When a [`Ticket`] was last dropped, which ends its request.
    settled_at: Instant,
}

impl Default for Pending {
    fn default() -> Self {
        Self(Mutex::new(PendingState {
            requests: HashMap::new(),
            next_check: None,
            settled_at: Instant::now(),
        }))
    }
}

impl Pending {
    /// Adds a pending request, which stays until the returned ticket is dropped. Also returns
    /// whether the next check is now earlier than before.
    pub(crate) fn wait(
        &self,
        number: u64,
        kind: RequestKind,
        timer: RequestTimer,
    ) -> (Ticket<'_>, bool) {
        let request = PendingRequest {
            kind,
            timer,
            progress: VecDeque::new(),
            outcome: None,
            waker: Waker::noop().clone(),
        };
        let mut state = self.0.lock();
        state.requests.insert(number, request);
        let sooner = timer
            .until
            .is_some_and(|until| state.next_check.is_none_or(|next_check| until < next_check));
        if sooner {
            state.next_check = timer.until;
        }
        let ticket = Ticket {
            pending: self,
            number,
        };
        (ticket, sooner)
    }

    /// When [`expire`](Self::expire) should be called next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.0.lock().next_check
    }

    /// Fails the requests whose deadline has passed, and schedules the next check.
    pub(crate) fn expire(&self, now: Instant) {
        let mut state = self.0.lock();
        let late: Vec<Waker> = state
            .unsettled()
            .filter_map(|request| {
                let time = request.timer.expired(now)?;
                Some(request.settle(Err(RequestError::Timeout(time))))
            })
            .collect();
        state.next_check = state.unsettled().filter_map(|open| open.timer.until).min();
        drop(state);
        late.into_iter().for_each(Waker::wake);
    }

    /// Delivers a reply, or returns it if no request is waiting for it.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the reply itself, and is rarely returned"
    )]
    pub(crate) fn reply(&self, reply: Reply) -> Result<(), Reply> {
        let mut state = self.0.lock();
        let request = state.unsettled_one(reply.id());
        let Some(request) = request.filter(|request| request.kind.is_answered_by(&reply)) else {
            return Err(reply);
        };
        let waker = request.settle(Ok(reply));
        drop(state);
        waker.wake();
        Ok(())
    }

    /// Delivers a progress line. Returns false if no tool call is waiting for it. If too many lines
    /// are unread, the oldest is dropped.
    pub(crate) fn progress(&self, id: &Id, text: String) -> bool {
        let mut state = self.0.lock();
        let Some(request) = state.unsettled_one(id) else {
            return false;
        };
        if !matches!(request.kind, RequestKind::Tool(_)) {
            return false;
        }
        request.timer = request.timer.restarted(Instant::now());
        if request.progress.len() == PROGRESS_LINES {
            request.progress.pop_front();
        }
        request.progress.push_back(text);
        let waker = request.waker.clone();
        drop(state);
        waker.wake();
        true
    }

    /// Returns the call chain of the tool call `id` if it is pending.
    pub(crate) fn running(&self, id: &Id) -> Option<CallChain> {
        match &self.0.lock().unsettled_one(id)?.kind {
            RequestKind::Tool(chain) => Some(chain.clone()),
            _ => None,
        }
    }

    /// Fails the request `id`. Returns false if it is not pending.
    pub(crate) fn fail(&self, id: &Id, error: RequestError) -> bool {
        let mut state = self.0.lock();
        let request = state.unsettled_one(id);
        let waker = request.map(|request| request.settle(Err(error)));
        drop(state);
        waker.map(Waker::wake).is_some()
    }

    /// Fails every request.
    pub(crate) fn fail_all(&self, error: &RequestError) {
        let mut state = self.0.lock();
        let all = state.unsettled();
        let all: Vec<Waker> = all
            .map(|request| request.settle(Err(error.clone())))
            .collect();
        drop(state);
        all.into_iter().for_each(Waker::wake);
    }

    /// When a [`Ticket`] was last dropped, which ends its request.
    pub(crate) fn settled_at(&self) -> Instant {
        self.0.lock().settled_at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unsettled().next().is_none()
    }
}

impl PendingState {
    /// The requests without an outcome.
    fn unsettled(&mut self) -> impl Iterator<Item = &mut PendingRequest> {
        let all = self.requests.values_mut();
        all.filter(|request| request.outcome.is_none())
    }

    fn unsettled_one(&mut self, id: &Id) -> Option<&mut PendingRequest> {
        let one = self.requests.get_mut(&number(id)?);
        one.filter(|request| request.outcome.is_none())
    }
}

/// A pending request. Dropping it cancels the request; a later reply is ignored.
pub(crate) struct Ticket<'p> {
    pending: &'p Pending,
    number: u64,
}

impl Ticket<'_> {
    pub(crate) fn id(&self) -> Id {
        self.number.to_string().into()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Waits for progress or the outcome. Cancel safe. Must not be called again after the
    /// outcome.
    pub(crate) async fn update(&mut self) -> Update {
        poll_fn(|context| self.poll_update(context)).await
    }

    /// Waits for the outcome of a request that has no progress.
    pub(crate) async fn outcome(&mut self) -> RequestResult {
        loop {
            if let Update::Done(outcome) = self.update().await {
                return outcome;
            }
        }
    }

    fn poll_update(&self, context: &mut Context<'_>) -> Poll<Update> {
        let mut state = self.pending.0.lock();
        let request = state.requests.get_mut(&self.number);
        let request = request.expect("kept until its outcome is taken");
        if let Some(line) = request.progress.pop_front() {
            return Poll::Ready(Update::Progress(line));
        }
        if let Some(outcome) = request.outcome.take() {
            state.requests.remove(&self.number);
            return Poll::Ready(Update::Done(outcome));
        }
        request.waker.clone_from(context.waker());
        Poll::Pending
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.pending.0.lock();
        state.requests.remove(&self.number);
        state.settled_at = Instant::now();
    }
}

/// Generates ids. All connections share one generator, so that an id is never mistaken for one from
/// another connection.
#[derive(Debug, Default)]
pub(crate) struct Ids(AtomicU64);

impl Ids {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Parses an id. Accepts only the form that [`Ticket::id`] writes.
fn number(id: &Id) -> Option<u64> {
    let digits = id.as_str();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_number_in_one_spelling() {
        assert_eq!(number(&"17".into()), Some(17));
        for other in [
            "",
            "017",
            "+17",
            " 17",
            "17.0",
            "1e1",
            "٣",
            "18446744073709551616",
        ] {
            assert_eq!(number(&other.into()), None, "{other:?}");
        }
    }
}
