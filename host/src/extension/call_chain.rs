//! Tool calls within tool calls: who called whom, how deep, and what ends with what.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// An extension that calls tools. What its calls cause counts against it: interceptors are asked about them one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    name: Arc<str>,
    turn: Arc<Mutex<()>>,
}

impl Caller {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            turn: Arc::default(),
        }
    }

    /// Waits until no other question about a call of this extension is open.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }
}

/// A tool call and those in whose handling it is made. One that is cancelled or has its result takes along those that
/// are made within it.
#[derive(Debug, Clone)]
pub struct CallChain(Arc<Link>);

#[derive(Debug)]
struct Link {
    tool: String,
    /// The extension that makes the call; `None`: the model, or the program around the host.
    caller: Option<Caller>,
    within: Option<CallChain>,
    cancelled: Flag,
    /// Nothing is called within it any more.
    closed: Flag,
}

/// Something that happens once. Nearly all calls have nobody who waits for it, and make no token.
#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    token: OnceLock<CancellationToken>,
}

impl Flag {
    fn set(&self) {
        // Whoever makes the token after this looks at the flag, and who made it before is told.
        self.set.store(true, Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }

    fn is_set(&self) -> bool {
        let token = self.token.get();
        self.set.load(Ordering::SeqCst) || token.is_some_and(CancellationToken::is_cancelled)
    }

    fn token(&self) -> &CancellationToken {
        self.token.get_or_init(CancellationToken::new)
    }

    async fn wait(&self) {
        let token = self.token();
        if !self.is_set() {
            token.cancelled().await;
        }
    }
}

/// Why a call within another is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainRefused {
    /// As many calls within each other as there may be.
    #[error("{0} tool calls within each other are the most there may be")]
    TooDeep(usize),
    /// The tool is already being called in this chain.
    #[error("`{0}` is already being called further up")]
    Repeated(String),
}

impl CallChain {
    /// A call of `tool` that is made in no other's handling, by the model or the program around the host.
    pub fn new(tool: impl Into<String>) -> Self {
        Self::with(tool.into(), None, None, Flag::default())
    }

    /// A call of `tool` by the model, which `cancel` cancels.
    pub fn cancelled_by(tool: &str, cancel: &CancellationToken) -> Self {
        let cancelled = Flag {
            set: AtomicBool::new(false),
            token: cancel.child_token().into(),
        };
        Self::with(tool.to_owned(), None, None, cancelled)
    }

    /// A call of `tool` that an extension makes on its own account.
    pub(crate) fn by(caller: &Caller, tool: impl Into<String>) -> Self {
        Self::with(tool.into(), Some(caller.clone()), None, Flag::default())
    }

    /// A call of `tool` that an extension makes in the handling of this one; at most `depth` in all.
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
        let Link {
            cancelled, closed, ..
        } = &*self.0;
        let token = closed.token.get_or_init(|| cancelled.token().child_token());
        let call = Self::with(
            tool,
            Some(caller.clone()),
            Some(self.clone()),
            Flag {
                set: AtomicBool::new(false),
                token: token.child_token().into(),
            },
        );
        if closed.is_set() || cancelled.is_set() {
            call.cancel();
        }
        Ok(call)
    }

    fn with(tool: String, caller: Option<Caller>, within: Option<Self>, cancelled: Flag) -> Self {
        Self(Arc::new(Link {
            tool,
            caller,
            within,
            cancelled,
            closed: Flag::default(),
        }))
    }

    /// The tool that is called.
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The extension that makes the call; `None`: the model, or the program around the host.
    pub fn caller(&self) -> Option<&str> {
        self.0.caller.as_ref().map(|caller| &*caller.name)
    }

    /// Waits for the caller's turn to have interceptors asked. The model needs none.
    pub(crate) async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        match &self.0.caller {
            Some(caller) => Some(caller.turn().await),
            None => None,
        }
    }

    /// The tools of the chain: the one that is called, then whose handling that is made in, and so on.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |chain| chain.0.within.as_ref()).map(Self::tool)
    }

    /// Cancels the call and all within it.
    pub fn cancel(&self) {
        self.0.cancelled.set();
    }

    /// Cancels the calls within this one, which has its result.
    pub(crate) fn close(&self) {
        self.0.closed.set();
    }

    /// Whether the call, or one that it is made in, has been cancelled, or one that it is made in has its result.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// Cancelled when the call [is cancelled](Self::is_cancelled).
    pub fn token(&self) -> &CancellationToken {
        let Flag { set, token } = &self.0.cancelled;
        let token = token.get_or_init(CancellationToken::new);
        if set.load(Ordering::SeqCst) {
            token.cancel();
        }
        token
    }

    /// Resolves when it [is cancelled](Self::is_cancelled).
    pub async fn cancelled(&self) {
        self.0.cancelled.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller::new("weather")
    }

    #[test]
    fn a_chain_is_as_deep_as_it_may_be_and_no_deeper() {
        let mut chain = CallChain::new("a");
        for tool in ["b", "c", "d"] {
            chain = chain.call(&caller(), tool, 4).expect("not too deep");
        }
        assert_eq!(chain.tools().collect::<Vec<_>>(), ["d", "c", "b", "a"]);
        assert_eq!(
            chain.call(&caller(), "e", 4).unwrap_err(),
            ChainRefused::TooDeep(4)
        );
    }

    #[test]
    fn a_tool_is_in_a_chain_once_and_in_two_chains_twice() {
        let chain = CallChain::new("a");
        let below = chain.call(&caller(), "b", 4).expect("another tool");
        assert_eq!(
            below.call(&caller(), "a", 4).unwrap_err(),
            ChainRefused::Repeated("a".into())
        );
        assert!(chain.call(&caller(), "b", 4).is_ok());
    }

    #[tokio::test]
    async fn what_is_within_a_cancelled_call_is_cancelled_at_any_depth() {
        let chain = CallChain::new("a");
        let below = chain.call(&caller(), "b", 4).expect("another tool");
        let bottom = below.call(&caller(), "c", 4).expect("another tool");
        chain.cancel();
        bottom.cancelled().await;
    }

    #[tokio::test]
    async fn what_is_within_a_call_ends_with_it() {
        let chain = CallChain::new("a");
        let below = chain.call(&caller(), "b", 4).expect("another tool");
        let beside = chain.call(&caller(), "c", 4).expect("another tool");
        below.cancel();
        below.cancelled().await;
        assert!(!beside.is_cancelled() && !chain.is_cancelled());
        chain.close();
        beside.cancelled().await;
        assert!(!chain.is_cancelled(), "it only has its result");
        let late = chain.call(&caller(), "d", 4).expect("another tool");
        assert!(late.is_cancelled());
    }
}
