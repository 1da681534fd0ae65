//! One tool call from its announcement to the report of its end: the only place that knows the
//! order of announcing, intercepting, confirming, executing and reporting.

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, OwnedMutexGuard};
use zot_protocol::{
    Intercept, InterceptName, Object, ToolCallEvent, ToolCallIntercept, ToolId, ToolResult,
    ToolResultEvent, ToolResultIntercept, ToolStatus, limits, rpc,
};

use super::{
    Host, HostError, ToolOutcome,
    executor::{Executor, ExtensionTools, NotCalled},
    slot::Slot,
};
use crate::{
    ApprovalRequest, Confirmed,
    approval::{Decision, PendingCall},
    extension::{CallChain, chain::ChainOutcome, event::truncate_content, notes::HeldNotes},
};

/// How long an extension's call waits for the frames queued for all extensions to be written.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Receives updates about a tool call while it runs.
pub(crate) trait Watcher: Send {
    /// The interceptors have answered. The call is about to run with these arguments, or was
    /// blocked. Dropping `notes` passes the interceptors' notes about the call on to the user.
    fn intercepted(
        &mut self,
        _args: Option<&Object>,
        _notes: HeldNotes,
    ) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// The tool sent a progress line.
    fn progress(&mut self, _line: String) {}
}

impl<F: FnMut(String) + Send> Watcher for F {
    fn progress(&mut self, line: String) {
        self(line);
    }
}

impl Host {
    /// Calls an extension tool, without events or interception. `progress` receives progress lines.
    /// Arguments or results that do not match the tool's schema produce an error result, which
    /// shows the model where and why they do not match.
    pub async fn tool(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String),
    ) -> Result<ToolResult, HostError> {
        let (chain, tools) = (CallChain::new(name), ExtensionTools(self));
        let args = match tools.checked(name, args).await {
            Ok(args) => args,
            Err(NotCalled::Result(result)) => return Ok(result),
            Err(NotCalled::Error(error)) => return Err(error),
        };
        self.approve(&tools, None, &chain, &args).await?;
        tools.call(&chain, args, progress).await
    }

    /// Runs an extension tool with everything that belongs to a call: events, interceptors and
    /// confirmation. Returns immediately when `chain` is cancelled.
    pub async fn run_tool(
        &self,
        chain: CallChain,
        args: Object,
        mut progress: impl FnMut(String) + Send,
    ) -> ToolOutcome {
        let mut call = Invocation::new(self, self.next_call_id(), chain, args);
        if call.chain.caller().is_none() {
            call.announce();
        }
        let tools = ExtensionTools(self);
        call.run(Some(&tools), &mut progress).await
    }

    /// Generates an id for a call that the model did not make.
    pub(crate) fn next_call_id(&self) -> ToolId {
        ToolId::from(format!("call-{}", self.0.shared.ids.next()))
    }

    /// Returns an error unless the user's rules or the user allow a call.
    async fn approve(
        &self,
        executor: &dyn Executor,
        tool_id: Option<&ToolId>,
        chain: &CallChain,
        args: &Object,
    ) -> Result<(), HostError> {
        let config = &self.0.shared.config;
        let tool = chain.tool().to_owned();
        let call = PendingCall {
            caller: chain.caller(),
            tool: chain.tool(),
            args,
        };
        let rule = match config.approvals.decide(&call) {
            Decision::Allow => return Ok(()),
            Decision::Ask(rule) => rule.map(Box::new),
            Decision::Deny(rule) => {
                let rule = Box::new(rule);
                return Err(HostError::Forbidden { tool, rule });
            }
        };
        let preview = executor.preview(chain, args).await;
        let request = ApprovalRequest {
            call,
            tool_id,
            preview: preview.as_ref(),
            rule: rule.as_deref(),
        };
        match config.hooks.confirm(request).await {
            Confirmed::Yes => Ok(()),
            Confirmed::No => Err(HostError::Declined(tool)),
            Confirmed::Unavailable => Err(HostError::Unconfirmed { tool, rule }),
        }
    }

    /// Waits until the frames queued for all extensions are written, but at most [`DRAIN_TIMEOUT`]:
    /// a stuck extension must not hold up the calls of other extensions.
    async fn wait_until_drained(&self) {
        let slots = self.0.slots();
        let all = async {
            for slot in slots.iter() {
                if let Slot::Started(member) = slot {
                    member.connection.drained().await;
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
    }
}

/// A tool call. The chain specifies the tool and its caller, and can cancel the call.
pub(crate) struct Invocation<'h> {
    host: &'h Host,
    id: ToolId,
    chain: CallChain,
    /// The arguments, as rewritten by the interceptors asked so far.
    args: Object,
    /// Whether observers have seen the call.
    announced: bool,
    /// Whether the user has been shown this call, if an extension makes it.
    shown: bool,
    /// The interceptors' notes about the last event that they were asked about.
    notes: HeldNotes,
    /// Locked while interceptors are asked, if the call runs in parallel with others.
    turns: Option<Arc<Mutex<()>>>,
}

impl<'h> Invocation<'h> {
    pub(crate) fn new(host: &'h Host, id: ToolId, chain: CallChain, args: Object) -> Self {
        Self {
            host,
            id,
            chain,
            args,
            announced: false,
            shown: false,
            notes: HeldNotes::default(),
            turns: None,
        }
    }

    /// Shares a lock with the other calls of a parallel batch, so that interceptors are asked about
    /// one call at a time.
    #[cfg(feature = "agent")]
    pub(crate) fn take_turns(&mut self, turns: Arc<Mutex<()>>) {
        self.turns = Some(turns);
    }

    /// Sends the call's event to observers. [`run`](Self::run) does this for calls made by
    /// extensions.
    pub(crate) fn announce(&mut self) {
        let mut call = ToolCallEvent::new(self.chain.tool(), self.args.clone());
        call.tool_id = Some(self.id.clone());
        call.caller = self.chain.caller().map(str::to_owned);
        self.host.send_event(&call.into());
        self.announced = true;
    }

    /// Ends a call that cannot be made.
    #[cfg(feature = "agent")]
    pub(crate) fn refuse(&mut self, why: &str) -> ToolOutcome {
        let outcome = ToolOutcome::error(ToolStatus::Failed, why);
        self.report(&outcome);
        outcome
    }

    /// Makes the call. `executor` is `None` if the tool does not exist. The invocation holds notes
    /// about the result until it is dropped, or until [`take_notes`](Self::take_notes) takes them.
    pub(crate) async fn run(
        &mut self,
        executor: Option<&dyn Executor>,
        watcher: &mut impl Watcher,
    ) -> ToolOutcome {
        let (Ok(mut outcome) | Err(mut outcome)) = self.steps(executor, watcher).await;
        let registry = self.host.registry();
        let owner = registry.tool(self.chain.tool());
        outcome.extension = owner.map(|entry| entry.extension.clone());
        self.report(&outcome);
        outcome
    }

    #[cfg(feature = "agent")]
    pub(crate) fn take_notes(&mut self) -> HeldNotes {
        std::mem::take(&mut self.notes)
    }

    async fn steps(
        &mut self,
        executor: Option<&dyn Executor>,
        watcher: &mut impl Watcher,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let chain = self.chain.clone();
        let args = tokio::select! {
            biased;
            () = chain.cancelled() => Err(ToolOutcome::cancelled()),
            ready = self.prepare(executor, watcher) => ready,
        }?;
        let tool = chain.tool();
        let executor = executor.ok_or_else(|| HostError::NoSuchTool(tool.to_owned()))?;
        let mut progress = |line| watcher.progress(line);
        let mut outcome = executor.execute(&chain, args, &mut progress).await;
        if chain.caller().is_some() {
            // An extension receives at most `CALL_TOOL_BYTES`, so interceptors need not see more.
            outcome.truncated = truncate_content(&mut outcome.content, limits::CALL_TOOL_BYTES);
        }
        if !chain.is_cancelled() {
            return tokio::select! {
                biased;
                reviewed = self.intercept_result(outcome) => reviewed,
                () = chain.cancelled() => Err(ToolOutcome::cancelled()),
            };
        }
        // Interceptors are not asked about a cancelled call. Drop the result, because they might
        // have blocked it.
        if self.host.intercepts(&InterceptName::ToolResult) {
            return Err(ToolOutcome::cancelled());
        }
        Ok(outcome)
    }

    /// Intercepts, checks and confirms the call. Returns the arguments for the tool.
    async fn prepare(
        &mut self,
        executor: Option<&dyn Executor>,
        watcher: &mut impl Watcher,
    ) -> Result<Object, ToolOutcome> {
        let answer = self.intercept_call().await;
        self.show();
        let notes = std::mem::take(&mut self.notes);
        let args = answer.is_ok().then_some(&self.args);
        watcher.intercepted(args, notes).await;
        answer?;
        let Some(executor) = executor else {
            return Ok(self.args.clone());
        };
        let args = executor.check(&self.chain, self.args.clone()).await?;
        let id = Some(&self.id);
        self.host.approve(executor, id, &self.chain, &args).await?;
        Ok(args)
    }

    async fn intercept_call(&mut self) -> Result<(), ToolOutcome> {
        let turn = self.chain.interceptor_turn().await;
        if turn.is_some() {
            // Back-pressure: a flood of calls waits for the slowest observer instead of overflowing
            // its queue.
            self.host.wait_until_drained().await;
            self.announce();
        }
        let mut call = ToolCallIntercept::new(self.chain.tool(), self.args.clone());
        call.tool_id = Some(self.id.clone());
        call.caller = self.chain.caller().map(str::to_owned);
        match self.ask(turn, call.into()).await.result {
            Ok(Intercept::ToolCall(call)) => {
                self.args = call.tool_args;
                Ok(())
            }
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => Err(ToolOutcome::error(ToolStatus::Blocked, block.reason)),
        }
    }

    async fn intercept_result(
        &mut self,
        mut outcome: ToolOutcome,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let mut result = ToolResultIntercept::new(
            self.id.clone(),
            self.chain.tool(),
            self.args.clone(),
            outcome.content.clone(),
            outcome.is_error,
        );
        result.caller = self.chain.caller().map(str::to_owned);
        let turn = self.chain.interceptor_turn().await;
        match self.ask(turn, result.into()).await.result {
            Ok(Intercept::ToolResult(result)) if result.content != outcome.content => {
                outcome.content = result.content;
                outcome.structured_content = None;
                Ok(outcome)
            }
            Ok(_) => Ok(outcome),
            Err(block) => Err(ToolOutcome::error(ToolStatus::Blocked, block.reason)),
        }
    }

    /// Asks the interceptors. The chain for an extension's call holds that extension's turn until
    /// it ends, even if the call is cancelled in between. An extension that calls and cancels in a
    /// loop therefore occupies at most one chain.
    async fn ask(&mut self, turn: Option<OwnedMutexGuard<()>>, event: Intercept) -> ChainOutcome {
        let _turn = match &self.turns {
            Some(turns) => Some(turns.lock().await),
            None => None,
        };
        let (outcome, notes) = match turn {
            None => self.host.intercept_holding_notes(event).await,
            Some(turn) => {
                let host = self.host.clone();
                let asking = tokio::spawn(async move {
                    let answered = host.intercept_holding_notes(event).await;
                    drop(turn);
                    answered
                });
                asking.await.expect("a chain does not panic")
            }
        };
        self.notes = notes;
        outcome
    }

    /// Shows the user, once, that an extension is running a tool.
    fn show(&mut self) {
        if let Some(caller) = self.chain.caller()
            && !std::mem::replace(&mut self.shown, true)
        {
            let (id, args) = (self.id.clone(), self.args.clone());
            let call = rpc::ExtToolCall::new(caller, id, self.chain.tool(), args);
            self.host.0.shared.config.hooks.extension_call(call);
        }
    }

    /// Reports the end of a call to everyone that was notified of its start.
    fn report(&mut self, outcome: &ToolOutcome) {
        if !self.announced {
            return;
        }
        let (content, status) = (outcome.content.clone(), outcome.status.clone());
        let (id, args) = (self.id.clone(), self.args.clone());
        let tool = self.chain.tool();
        let mut end = ToolResultEvent::new(id, tool, args, status, content, outcome.is_error);
        end.caller = self.chain.caller().map(str::to_owned);
        self.host.send_event(&end.into());
        self.show();
        if let Some(caller) = self.chain.caller() {
            let (id, status) = (self.id.clone(), outcome.status.clone());
            let result = rpc::ExtToolResult::new(caller, id, self.chain.tool(), status);
            self.host.0.shared.config.hooks.extension_call_ended(result);
        }
    }
}
