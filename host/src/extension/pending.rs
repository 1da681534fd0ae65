//! Requests that wait for their replies, by id.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use zot_protocol::{CommandResponse, EventInterceptResponse, Id, ToolResult, validate::Refusal};

use super::call_chain::CallChain;

/// Why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No reply within the deadline.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The extension is gone, or was never there.
    #[error("{0}")]
    Closed(String),
    /// The reply does not validate.
    #[error("its answer was refused: {0}")]
    Refused(Box<Refusal>),
    /// The extension sent a line over the limit, which may have been the reply.
    #[error("it sent a line of more than {0} bytes")]
    LineTooLong(usize),
    /// The request does not fit into a frame.
    #[error("the request has {bytes} bytes, more than the {limit} of a frame")]
    TooLarge {
        /// The size of the request.
        bytes: usize,
        /// The size of a frame.
        limit: usize,
    },
}

/// A reply, by what it answers.
#[derive(Debug)]
pub(crate) enum Reply {
    Command(CommandResponse),
    Tool(ToolResult),
    Intercept(EventInterceptResponse),
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Tool,
    Intercept,
}

impl Reply {
    fn kind(&self) -> Kind {
        match self {
            Self::Command(_) => Kind::Command,
            Self::Tool(_) => Kind::Tool,
            Self::Intercept(_) => Kind::Intercept,
        }
    }
}

pub(crate) type Outcome = Result<Reply, RequestError>;

struct Waiting {
    kind: Kind,
    reply: oneshot::Sender<Outcome>,
    tool: Option<Running>,
}

/// What a tool call has besides: somebody who watches its progress, and its place among other calls.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) progress: mpsc::Sender<String>,
    pub(crate) chain: CallChain,
}

/// The requests of one connection. Ids are never used twice.
#[derive(Default)]
pub(crate) struct Pending {
    waiting: Mutex<HashMap<Id, Waiting>>,
}

impl Pending {
    /// Waits for the reply to `id`, until the returned ticket is dropped.
    pub(crate) fn wait(&self, id: Id, kind: Kind, tool: Option<Running>) -> Ticket<'_> {
        let (reply, receiver) = oneshot::channel();
        let waiting = Waiting { kind, reply, tool };
        self.lock().insert(id.clone(), waiting);
        Ticket {
            pending: self,
            id,
            receiver,
        }
    }

    /// Delivers a reply; `false` when nobody waits for it.
    pub(crate) fn reply(&self, id: &Id, reply: Reply) -> bool {
        let mut waiting = self.lock();
        if waiting
            .get(id)
            .is_none_or(|waiting| waiting.kind != reply.kind())
        {
            return false;
        }
        waiting
            .remove(id)
            .is_some_and(|waiting| waiting.reply.send(Ok(reply)).is_ok())
    }

    /// Delivers a line of progress; `false` when nobody waits for it. One that nobody has room for is left out: the
    /// next one says more.
    pub(crate) fn progress(&self, id: &Id, text: String) -> bool {
        let waiting = self.lock();
        let Some(tool) = waiting.get(id).and_then(|waiting| waiting.tool.as_ref()) else {
            return false;
        };
        let _ = tool.progress.try_send(text);
        true
    }

    /// The tool call `id`, while it is waited for.
    pub(crate) fn running(&self, id: &Id) -> Option<CallChain> {
        let waiting = self.lock();
        Some(waiting.get(id)?.tool.as_ref()?.chain.clone())
    }

    /// Fails the request `id`; `false` when nobody waits for it.
    pub(crate) fn fail(&self, id: &Id, error: RequestError) -> bool {
        self.lock()
            .remove(id)
            .is_some_and(|waiting| waiting.reply.send(Err(error)).is_ok())
    }

    /// Fails every request.
    pub(crate) fn fail_all(&self, error: &RequestError) {
        for (_, waiting) in self.lock().drain() {
            let _ = waiting.reply.send(Err(error.clone()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Waiting>> {
        // Nothing in here panics half-way through a change.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request's place. Dropping it gives up waiting; a later reply is then nobody's.
pub(crate) struct Ticket<'p> {
    pending: &'p Pending,
    id: Id,
    receiver: oneshot::Receiver<Outcome>,
}

impl Ticket<'_> {
    pub(crate) fn id(&self) -> &Id {
        &self.id
    }

    /// The outcome. May be cancelled and awaited again.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        (&mut self.receiver)
            .await
            .unwrap_or_else(|_| Err(RequestError::Closed("the host is shutting down".into())))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.id);
    }
}

/// Where ids come from: one for all connections, so that an id of another connection is never taken for one's own.
#[derive(Debug, Default)]
pub(crate) struct Ids(AtomicU64);

impl Ids {
    pub(crate) fn next(&self) -> Id {
        (self.0.fetch_add(1, Ordering::Relaxed) + 1)
            .to_string()
            .into()
    }
}
