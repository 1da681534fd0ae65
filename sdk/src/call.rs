//! Calling another tool with `call_tool`.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{self, Poll},
};

use parking_lot::Mutex;
use zot_protocol::{CallToolCancel, CallToolResult, Capability, Id, Object};

use crate::{
    context::{Context, Shared},
    once::Once,
    output::text_of,
};

/// Why a call to another tool failed.
///
/// ```
/// use zot_sdk::{CallError, Extension, NoArgs, Object, ToolOutput};
///
/// let extension = Extension::new("caller", "1.0.0").tool("count", "counts lines", |_: NoArgs, ctx| {
///     match ctx.call_tool("read", Object::new()).wait() {
///         Ok(result) => ToolOutput::text(zot_sdk::text_of(&result.content).lines().count().to_string()),
///         Err(CallError::Failed(why)) => ToolOutput::error(format!("cannot read it: {why}")),
///         Err(error) => ToolOutput::error(error),
///     }
/// });
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # host.answer_calls(|_| ToolOutput::error("no such file"));
/// # assert_eq!(host.tool("count", "{}").text(), "cannot read it: no such file");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The host does not support `call_tool`.
    #[error("this host does not support `call_tool`")]
    Unsupported,
    /// The call is too large, or the connection has ended.
    #[error("failed to send the call: {0}")]
    Unsent(String),
    /// The connection ended before the tool answered.
    #[error("the connection ended before the tool answered")]
    Closed,
    /// The tool ran and returned an error.
    #[error("{0}")]
    Failed(String),
}

type Outcome = Result<CallToolResult, CallError>;

/// Pending calls.
#[derive(Default)]
pub(crate) struct Calls {
    next: AtomicU64,
    waiting: Mutex<HashMap<Id, Once<Outcome>>>,
}

impl Calls {
    fn take(&self, id: &Id) -> Option<Once<Outcome>> {
        self.waiting.lock().remove(id)
    }

    pub(crate) fn answered(&self, result: CallToolResult) {
        if let Some(waiting) = self.take(&result.id) {
            waiting.set(Ok(result));
        }
    }

    /// Fails all pending calls.
    pub(crate) fn close(&self) {
        let all = std::mem::take(&mut *self.waiting.lock());
        for outcome in all.into_values() {
            outcome.set(Err(CallError::Closed));
        }
    }
}

/// A pending call to another tool. [Wait](Self::wait) for it or await it. Dropping it before the
/// answer arrives cancels the call.
#[must_use = "a call that is dropped is cancelled"]
pub struct CallTool {
    id: Id,
    shared: Arc<Shared>,
    outcome: Once<Outcome>,
}

impl CallTool {
    pub(crate) fn start(context: &Context, name: String, args: Object) -> Self {
        let shared = Arc::clone(&context.shared);
        let number = shared.calls.next.fetch_add(1, Ordering::Relaxed);
        let id = Id::from(format!("call-{number}"));
        let outcome = Once::new();
        if shared.host().capabilities.contains(&Capability::CallTool) {
            let mut call = zot_protocol::CallTool::new(id.clone(), name, args);
            call.parent_id.clone_from(&context.parent);
            let mut waiting = shared.calls.waiting.lock();
            waiting.insert(id.clone(), outcome.clone());
            drop(waiting);
            if let Err(unsent) = shared.wire.send(call) {
                outcome.set(Err(CallError::Unsent(unsent.to_string())));
            }
        } else {
            outcome.set(Err(CallError::Unsupported));
        }
        Self {
            id,
            shared,
            outcome,
        }
    }

    /// Waits for the answer. Returns [`CallError::Failed`] if the tool returns an error.
    pub fn wait(self) -> Result<CallToolResult, CallError> {
        error_if_failed(self.outcome.wait())
    }
}

fn error_if_failed(outcome: Outcome) -> Outcome {
    let result = outcome?;
    if result.is_error {
        return Err(CallError::Failed(text_of(&result.content)));
    }
    Ok(result)
}

impl Future for CallTool {
    type Output = Result<CallToolResult, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.outcome.poll(context).map(error_if_failed)
    }
}

impl Drop for CallTool {
    fn drop(&mut self) {
        // An answered call is no longer in the map.
        if self.shared.calls.take(&self.id).is_some() && self.outcome.get().is_none() {
            let _ = self.shared.wire.send(CallToolCancel::new(self.id.clone()));
        }
    }
}

impl std::fmt::Debug for CallTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CallTool")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
