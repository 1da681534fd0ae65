//! Nested tool calls: who called which tool, how deep the calls are nested, and which calls a
//! cancellation affects.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// An extension that calls tools. Interceptors are asked about its calls one at a time, so that it
/// cannot flood them.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    name: Arc<str>,
    intercepting: Arc<Mutex<()>>,
}

impl Caller {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            intercepting: Arc::default(),
        }
    }

    /// Waits for this extension's turn: interceptors handle its calls one at a time.
    pub(crate) async fn interceptor_turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.intercepting).lock_owned().await
    }
}

/// A tool call and the calls that it is nested in. When a call is cancelled or finishes, the calls
/// nested in it are cancelled.
#[derive(Debug, Clone)]
pub struct CallChain(Arc<CallNode>);

#[derive(Debug)]
struct CallNode {
    tool: String,
    /// The extension that makes the call; `None` for the model or the embedding program.
    caller: Option<Caller>,
    parent: Option<CallChain>,
    cancelled: CancellationToken,
    /// The parent of the nested calls' tokens. Cancelled when this call is cancelled or finishes.
    nested: CancellationToken,
}

/// Why a nested call is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainRefused {
    /// Too many nested calls.
    #[error("tool calls cannot be nested more than {0} levels deep")]
    TooDeep(usize),
    /// The chain already contains a call to this tool.
    #[error("`{0}` is already running further up the call chain")]
    Repeated(String),
}

impl CallChain {
    /// Creates a call to `tool` by the model or the embedding program.
    pub fn new(tool: impl Into<String>) -> Self {
        Self::with(tool.into(), None, None, CancellationToken::new())
    }

    /// Creates a call to `tool` by the model. Cancelling `cancel` cancels the call.
    #[cfg(feature = "agent")]
    pub(crate) fn cancelled_by(tool: &str, cancel: &CancellationToken) -> Self {
        Self::with(tool.to_owned(), None, None, cancel.child_token())
    }

    /// Creates a call to `tool` by an extension, not nested in another call.
    pub(crate) fn by(caller: &Caller, tool: impl Into<String>) -> Self {
        let token = CancellationToken::new();
        Self::with(tool.into(), Some(caller.clone()), None, token)
    }

    /// Creates a call to `tool` by an extension, nested in this one. The chain can contain at most
    /// `depth` calls, and only one to each tool.
    pub(crate) fn call(
        &self,
        caller: &Caller,
        tool: impl Into<String>,
        depth: usize,
    ) -> Result<Self, ChainRefused> {
        let tool = tool.into();
        if self.tools().count() >= depth {
            return Err(ChainRefused::TooDeep(depth));
        }
        if self.tools().any(|above| above == tool) {
            return Err(ChainRefused::Repeated(tool));
        }
        let (caller, parent) = (Some(caller.clone()), Some(self.clone()));
        let token = self.0.nested.child_token();
        Ok(Self::with(tool, caller, parent, token))
    }

    fn with(
        tool: String,
        caller: Option<Caller>,
        parent: Option<Self>,
        cancelled: CancellationToken,
    ) -> Self {
        Self(Arc::new(CallNode {
            tool,
            caller,
            parent,
            nested: cancelled.child_token(),
            cancelled,
        }))
    }

    /// The called tool.
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The extension that makes the call; `None` for the model or the embedding program.
    pub fn caller(&self) -> Option<&str> {
        self.0.caller.as_ref().map(|caller| &*caller.name)
    }

    /// Reports whether both are the same call.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits for the caller's turn to ask interceptors. Calls by the model do not wait.
    pub(crate) async fn interceptor_turn(&self) -> Option<OwnedMutexGuard<()>> {
        match &self.0.caller {
            Some(caller) => Some(caller.interceptor_turn().await),
            None => None,
        }
    }

    /// Returns the tools of the chain, starting with the innermost call.
    fn tools(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |chain| chain.0.parent.as_ref()).map(Self::tool)
    }

    /// Cancels the call and all calls nested in it.
    pub fn cancel(&self) {
        self.0.cancelled.cancel();
    }

    /// Cancels the calls nested in this one. Called when this call has finished.
    pub(crate) fn close(&self) {
        self.0.nested.cancel();
    }

    /// Reports whether the call has been cancelled, or a call that it is nested in has been
    /// cancelled or has finished.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// Returns a token that is cancelled when the call [is cancelled](Self::is_cancelled).
    #[cfg(feature = "agent")]
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.cancelled
    }

    /// Resolves when the call [is cancelled](Self::is_cancelled).
    pub async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller::new("weather")
    }

    #[tokio::test]
    async fn closing_a_call_cancels_the_calls_nested_in_it() {
        let chain = CallChain::new("a");
        let below = chain.call(&caller(), "b", 4).expect("another tool");
        let beside = chain.call(&caller(), "c", 4).expect("another tool");
        assert!(
            chain.call(&caller(), "b", 4).is_ok(),
            "a second call, not nested in the first"
        );
        below.cancel();
        below.cancelled().await;
        assert!(!beside.is_cancelled() && !chain.is_cancelled());
        chain.close();
        beside.cancelled().await;
        assert!(!chain.is_cancelled(), "it is finished, not cancelled");
        let late = chain.call(&caller(), "d", 4).expect("another tool");
        assert!(late.is_cancelled());
    }
}
