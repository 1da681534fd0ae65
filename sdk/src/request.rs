//! Exactly one reply per request, whatever its handler does.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use zot_protocol::{EventInterceptResponse, FromExtension, Id};

use crate::{once::Once, output::ToolOutput, reply::Reply, wire::Wire};

/// What kind of reply a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Tool,
    Intercept,
}

impl Kind {
    /// The reply when there is none from the handler: an error, and from a guard a refusal.
    pub(crate) fn failure(self, id: Id, why: String) -> FromExtension {
        match self {
            Self::Command => Reply::error(why).frame(id).into(),
            Self::Tool => ToolOutput::error(why).frame(id).into(),
            Self::Intercept => {
                let mut frame = EventInterceptResponse::new(id);
                frame.block = true;
                frame.reason = Some(why);
                frame.into()
            }
        }
    }
}

/// What is under way: requests without a reply, and work that somebody should wait for before the end.
#[derive(Default)]
pub(crate) struct Requests {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    open: HashMap<Id, (Kind, Once<()>)>,
    working: usize,
}

impl Requests {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has come; `None` when one of its id is open already.
    pub(crate) fn open(self: &Arc<Self>, id: Id, kind: Kind, wire: &Arc<Wire>) -> Option<Request> {
        let cancelled = Once::new();
        let mut state = self.state();
        if state.open.contains_key(&id) {
            return None;
        }
        state.open.insert(id.clone(), (kind, cancelled.clone()));
        drop(state);
        Some(Request {
            id,
            kind,
            cancelled,
            wire: Arc::clone(wire),
            working: self.work(),
        })
    }

    /// Something to be waited for at the end.
    pub(crate) fn work(self: &Arc<Self>) -> Working {
        self.state().working += 1;
        Working(Arc::clone(self))
    }

    /// The host wants no answer any more.
    pub(crate) fn cancel(&self, id: &Id) {
        let cancelled = self.state().open.get(id).map(|(_, it)| it.clone());
        if let Some(cancelled) = cancelled {
            cancelled.set(());
        }
    }

    pub(crate) fn cancel_all(&self) {
        let all: Vec<_> = self
            .state()
            .open
            .values()
            .map(|(_, it)| it.clone())
            .collect();
        for cancelled in all {
            cancelled.set(());
        }
    }

    /// Waits until nothing is under way, or until the time is over.
    pub(crate) fn wait_until_idle(&self, at_most: Duration) {
        let start = Instant::now();
        let mut state = self.state();
        while state.working > 0 {
            let Some(left) = at_most.checked_sub(start.elapsed()) else {
                return;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes the right to reply from every handler that has not used it.
    pub(crate) fn take_open(&self) -> Vec<(Id, Kind)> {
        let open = std::mem::take(&mut self.state().open);
        open.into_iter().map(|(id, (kind, _))| (id, kind)).collect()
    }
}

/// While it lives, the end of the process waits, up to its deadline.
pub(crate) struct Working(Arc<Requests>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.state().working -= 1;
        self.0.changed.notify_all();
    }
}

/// The right, and the duty, to reply to one request. Dropped without a reply, it says so.
pub(crate) struct Request {
    id: Id,
    kind: Kind,
    cancelled: Once<()>,
    wire: Arc<Wire>,
    working: Working,
}

impl Request {
    pub(crate) fn id(&self) -> &Id {
        &self.id
    }

    pub(crate) fn cancelled(&self) -> &Once<()> {
        &self.cancelled
    }

    /// Replies. What cannot be sent is replaced by a failure that says why.
    pub(crate) fn reply(self, frame: impl Into<FromExtension>) {
        self.send(frame.into());
    }

    /// Replies that there is no answer, and why.
    pub(crate) fn fail(self, why: String) {
        let frame = self.kind.failure(self.id.clone(), why);
        self.send(frame);
    }

    fn send(&self, frame: FromExtension) {
        // The lock is not held while writing, which may take as long as the host does not read.
        let mine = self.working.0.state().open.remove(&self.id).is_some();
        if !mine {
            return;
        }
        if let Err(unsent) = self.wire.send(frame) {
            let why = format!("the answer could not be sent: {unsent}");
            let _ = self.wire.send(self.kind.failure(self.id.clone(), why));
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // Nothing happens here after a reply: the right to it is used up.
        let why = "the extension dropped the request without an answer".to_owned();
        self.send(self.kind.failure(self.id.clone(), why));
    }
}
