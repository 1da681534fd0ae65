//! Tool calls within tool calls: who called whom, how deep, and what ends with what.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio_util::sync::CancellationToken;

/// A tool call and those in whose handling it is made. When one ends, those within it are cancelled.
#[derive(Debug, Clone)]
pub struct CallChain(Arc<Link>);

#[derive(Debug)]
struct Link {
    tool: String,
    within: Option<CallChain>,
    over: AtomicBool,
    /// For whoever waits for the end. Nearly all calls have nobody who does, and make none.
    watch: OnceLock<CancellationToken>,
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
    /// A call of `tool` that is made in no other's handling.
    pub fn new(tool: impl Into<String>) -> Self {
        Self::with(tool.into(), None, OnceLock::new())
    }

    /// A call of `tool` that is made in the handling of this one; at most `depth` in all.
    pub fn call(&self, tool: impl Into<String>, depth: usize) -> Result<Self, ChainRefused> {
        let tool = tool.into();
        if self.tools().count() >= depth {
            return Err(ChainRefused::TooDeep(depth));
        }
        if self.tools().any(|above| above == tool) {
            return Err(ChainRefused::Repeated(tool));
        }
        let watch = self.watch().child_token().into();
        let call = Self::with(tool, Some(self.clone()), watch);
        if self.is_over() {
            call.cancel();
        }
        Ok(call)
    }

    fn with(tool: String, within: Option<Self>, watch: OnceLock<CancellationToken>) -> Self {
        Self(Arc::new(Link {
            tool,
            within,
            over: AtomicBool::new(false),
            watch,
        }))
    }

    fn watch(&self) -> &CancellationToken {
        self.0.watch.get_or_init(CancellationToken::new)
    }

    /// The tool that is called.
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The tools of the chain: the one that is called, then whose handling that is made in, and so on.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |chain| chain.0.within.as_ref()).map(Self::tool)
    }

    /// Ends the call and all within it.
    pub fn cancel(&self) {
        // Whoever makes the watch after this looks at the flag, and who made it before is told.
        self.0.over.store(true, Ordering::SeqCst);
        if let Some(watch) = self.0.watch.get() {
            watch.cancel();
        }
    }

    /// Whether the call, or one that it is made in, has ended or been cancelled.
    pub fn is_over(&self) -> bool {
        let over = self.0.over.load(Ordering::SeqCst);
        over || self
            .0
            .watch
            .get()
            .is_some_and(CancellationToken::is_cancelled)
    }

    /// Resolves when it [is over](Self::is_over).
    pub async fn over(&self) {
        let watch = self.watch();
        if !self.is_over() {
            watch.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_as_deep_as_it_may_be_and_no_deeper() {
        let mut chain = CallChain::new("a");
        for tool in ["b", "c", "d"] {
            chain = chain.call(tool, 4).expect("not too deep");
        }
        assert_eq!(chain.tools().collect::<Vec<_>>(), ["d", "c", "b", "a"]);
        assert_eq!(chain.call("e", 4).unwrap_err(), ChainRefused::TooDeep(4));
    }

    #[test]
    fn a_tool_is_in_a_chain_once_and_in_two_chains_twice() {
        let chain = CallChain::new("a");
        let below = chain.call("b", 4).expect("another tool");
        assert_eq!(
            below.call("a", 4).unwrap_err(),
            ChainRefused::Repeated("a".into())
        );
        assert!(chain.call("b", 4).is_ok());
    }

    #[tokio::test]
    async fn what_is_within_a_call_ends_with_it() {
        let chain = CallChain::new("a");
        let below = chain.call("b", 4).expect("another tool");
        let beside = chain.call("c", 4).expect("another tool");
        below.cancel();
        below.over().await;
        assert!(!beside.is_over() && !chain.is_over());
        chain.cancel();
        beside.over().await;
        let late = chain.call("d", 4).expect("another tool");
        assert!(late.is_over());
    }
}
