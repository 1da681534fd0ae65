//! Guarantees exactly one reply per request.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Condvar, Mutex};
use zot_protocol::{EventInterceptResponse, FromExtension, Id};

use crate::{once::Once, output::ToolOutput, reply::Reply, wire::Wire};

/// The kind of reply that a request expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Command,
    Tool,
    Intercept,
}

impl RequestKind {
    /// Returns the reply for a failed handler: an error, or a block from a guard.
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

/// Pending requests, and background work to wait for at shutdown.
#[derive(Default)]
pub(crate) struct Requests {
    state: Mutex<RequestState>,
    changed: Condvar,
}

#[derive(Default)]
struct RequestState {
    open: HashMap<Id, (RequestKind, Once<()>)>,
    working: usize,
}

impl Requests {
    /// Opens a request. Returns `None` if one with the same id is already open.
    pub(crate) fn open(
        self: &Arc<Self>,
        id: &Id,
        kind: RequestKind,
        wire: &Arc<Wire>,
    ) -> Option<Request> {
        let cancelled = Once::new();
        let mut state = self.state.lock();
        if state.open.contains_key(id) {
            return None;
        }
        state.open.insert(id.clone(), (kind, cancelled.clone()));
        drop(state);
        Some(Request {
            id: id.clone(),
            kind,
            cancelled,
            wire: Arc::clone(wire),
            working: self.work(),
        })
    }

    /// Registers background work to wait for at shutdown.
    pub(crate) fn work(self: &Arc<Self>) -> Working {
        self.state.lock().working += 1;
        Working(Arc::clone(self))
    }

    /// Cancels a request.
    pub(crate) fn cancel(&self, id: &Id) {
        let cancelled = self.state.lock().open.get(id).map(|(_, it)| it.clone());
        if let Some(cancelled) = cancelled {
            cancelled.set(());
        }
    }

    pub(crate) fn cancel_all(&self) {
        let all: Vec<_> = self
            .state
            .lock()
            .open
            .values()
            .map(|(_, it)| it.clone())
            .collect();
        for cancelled in all {
            cancelled.set(());
        }
    }

    /// Waits until nothing is pending or the deadline has passed.
    pub(crate) fn wait_until_idle(&self, at_most: Duration) {
        let is_busy = |state: &mut RequestState| state.working > 0;
        self.changed
            .wait_while_for(&mut self.state.lock(), is_busy, at_most);
    }

    /// Takes all open requests, so that their handlers can no longer reply.
    pub(crate) fn take_open(&self) -> Vec<(Id, RequestKind)> {
        let open = std::mem::take(&mut self.state.lock().open);
        open.into_iter().map(|(id, (kind, _))| (id, kind)).collect()
    }
}

/// While this guard exists, shutdown waits, up to its deadline.
pub(crate) struct Working(Arc<Requests>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.state.lock().working -= 1;
        self.0.changed.notify_all();
    }
}

/// An open request, which must be answered once. If dropped without a reply, it sends an error.
pub(crate) struct Request {
    id: Id,
    kind: RequestKind,
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

    /// Sends a reply. If it cannot be sent, sends an error with the reason instead.
    pub(crate) fn reply(self, frame: impl Into<FromExtension>) {
        self.send(frame.into());
    }

    /// Replies with an error.
    pub(crate) fn fail(self, why: String) {
        let frame = self.kind.failure(self.id.clone(), why);
        self.send(frame);
    }

    fn send(&self, frame: FromExtension) {
        // Release the lock before writing, which blocks if the host is not reading.
        let mine = self.working.0.state.lock().open.remove(&self.id).is_some();
        if !mine {
            return;
        }
        if let Err(unsent) = self.wire.send(frame) {
            let why = format!("failed to send the answer: {unsent}");
            let _ = self.wire.send(self.kind.failure(self.id.clone(), why));
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // Does nothing after a reply, because the request is no longer open.
        let why = "the extension dropped the request without an answer".to_owned();
        self.send(self.kind.failure(self.id.clone(), why));
    }
}

#[cfg(test)]
mod tests {
    use zot_protocol::{Tagged, ToolResult};

    use super::*;
    use crate::wire::tests::Written;

    fn opened(kind: RequestKind) -> (Written, Arc<Requests>, Request) {
        let written = Written::default();
        let requests = Arc::new(Requests::default());
        let wire = Arc::new(Wire::new(written.clone()));
        let request = requests
            .open(&"1".into(), kind, &wire)
            .expect("the id is new");
        assert!(
            requests.open(&"1".into(), kind, &wire).is_none(),
            "the same id cannot be opened twice"
        );
        (written, requests, request)
    }

    #[test]
    fn a_dropped_request_is_answered_with_an_error() {
        let reply = |kind| {
            let (written, requests, request) = opened(kind);
            drop(request);
            requests.wait_until_idle(Duration::from_secs(60));
            let [frame] = &written.frames()[..] else {
                panic!("expected one reply")
            };
            frame.clone()
        };
        let why = "the extension dropped the request without an answer";
        match reply(RequestKind::Command) {
            FromExtension::CommandResponse(it) => assert_eq!(it.error.as_deref(), Some(why)),
            other => panic!("{}", other.name()),
        }
        match reply(RequestKind::Tool) {
            FromExtension::ToolResult(it) => assert!(it.is_error),
            other => panic!("{}", other.name()),
        }
        match reply(RequestKind::Intercept) {
            FromExtension::EventInterceptResponse(it) => assert!(it.block),
            other => panic!("{}", other.name()),
        }
    }

    #[test]
    fn an_answered_request_is_not_answered_again() {
        let (written, requests, request) = opened(RequestKind::Tool);
        request.reply(ToolResult::new("1", vec![]));
        assert_eq!(written.frames(), [ToolResult::new("1", vec![]).into()]);
        assert!(requests.take_open().is_empty());
    }

    #[test]
    fn a_request_answered_at_shutdown_is_not_answered_again() {
        let (written, requests, request) = opened(RequestKind::Tool);
        assert_eq!(requests.take_open(), [("1".into(), RequestKind::Tool)]);
        request.reply(ToolResult::new("1", vec![]));
        assert_eq!(written.frames(), []);
    }
}
