//! The tools that an answer calls, one after the other, each through interception, and their results.

use std::sync::{
    PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use zot_protocol::{InterceptName, Object, StopReason, ToolId, ToolStatus, limits, rpc};

use super::{Agent, events::Events};
use crate::{
    ToolOutcome, ToolRequest, clock,
    extension::{CallChain, event::cut_content},
    message::{Block, Role, shown_content},
    session::ExtensionCall,
    tool,
};

/// How many lines of progress may wait; what comes faster than it is shown is left out.
const PROGRESS: usize = 16;
/// The session's file keeps no larger arguments of an extension's call.
const KEPT_ARGS: usize = 4 * 1024;

/// A call as it stands in a message.
pub(super) struct Call {
    id: ToolId,
    chain: CallChain,
    args: Object,
}

impl Call {
    pub(super) fn of(block: &Block) -> Option<Self> {
        let Block::ToolCall { id, name, args } = block else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            chain: CallChain::new(name),
            args: args.clone(),
        })
    }

    /// What a driver is told of it.
    fn event(&self) -> rpc::ToolCall {
        rpc::ToolCall::new(self.id.clone(), self.chain.tool(), self.args.clone())
    }
}

impl Agent {
    /// Announces all calls of a message, ends the model's turn, and runs them in their order. Whatever happens, each has
    /// a result in the transcript.
    pub(super) async fn run_calls(
        &self,
        calls: &[Call],
        malformed: &[(ToolId, String)],
        events: &Events,
        cancel: &CancellationToken,
    ) {
        // Drivers see no arguments that an interceptor may change before it was asked.
        let held = self.host.intercepts(&InterceptName::ToolCall);
        for call in calls {
            self.host.announce(&call.id, &call.chain, &call.args);
            if !held {
                events.tell(call.event()).await;
            }
        }
        self.end_turn(StopReason::ToolUse, None, events).await;
        for call in calls {
            let told = AtomicBool::new(!held);
            let why = malformed.iter().find(|(id, _)| *id == call.id);
            let outcome = match why {
                Some((_, why)) => self.refused(call, why),
                None => self.run_call(call, &told, events, cancel).await,
            };
            if !told.into_inner() {
                events.tell(call.event()).await;
            }
            // Each for itself, and before it is shown: whatever ends the process, what was seen is there again.
            let result = Block::ToolResult {
                call_id: call.id.clone(),
                is_error: outcome.is_error,
                content: outcome.content.clone(),
            };
            self.append(Role::Tool, vec![result]).await;
            let mut event = rpc::ToolResult::new(
                call.id.clone(),
                outcome.is_error,
                shown_content(&outcome.content),
            );
            event.extension = outcome.extension;
            event.status = Some(outcome.status);
            events.tell(event).await;
        }
    }

    /// A call that cannot be made, as the model is told. Observers see its end as that of any other.
    fn refused(&self, call: &Call, why: &str) -> ToolOutcome {
        let outcome = ToolOutcome::error(ToolStatus::Failed, why);
        self.host
            .tell_end(&call.id, &call.chain, &call.args, &outcome);
        outcome
    }

    /// Runs a call. Sets `told` when it has told drivers of it, which waits for the interceptors if it was not set.
    async fn run_call(
        &self,
        call: &Call,
        told: &AtomicBool,
        events: &Events,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let chain = &call.chain;
        let (to, mut lines) = mpsc::channel(PROGRESS);
        let count = AtomicU64::new(0);
        let count = &count;
        let progress = move |line| {
            count.fetch_add(1, Ordering::Relaxed);
            // Shown to a person, who could not have read it either.
            let _ = to.try_send(line);
        };
        let forwarding = async {
            while let Some(line) = lines.recv().await {
                // The lines are part of a result that an interceptor may change.
                let text = if self.host.intercepts(&InterceptName::ToolResult) {
                    lines_so_far(count.load(Ordering::Relaxed))
                } else {
                    line
                };
                events
                    .tell(rpc::ToolProgress::new(call.id.clone(), text))
                    .await;
            }
        };
        let at_work = &Mutex::new(());
        let run = move |args: Object| async move {
            if !told.swap(true, Ordering::Relaxed) {
                events.tell(call.event()).await;
            }
            self.run_tool(chain, args, progress, cancel, at_work).await
        };
        let guarded = async {
            let guarded = self
                .host
                .guarded(chain, call.id.clone(), call.args.clone(), run);
            tokio::pin!(guarded);
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                outcome = &mut guarded => return outcome,
            }
            // A built-in tool ends by itself, and with it all it has started: that is waited for, and nothing else.
            tokio::select! {
                biased;
                outcome = &mut guarded => return outcome,
                _ = at_work.lock() => chain.cancel(),
            }
            guarded.await
        };
        let (mut outcome, ()) = tokio::join!(guarded, forwarding);
        outcome.extension = self.host.owner_of(chain.tool());
        outcome
    }

    /// The tool itself, a built-in one or an extension's. While a built-in one is at work, `at_work` is locked.
    async fn run_tool(
        &self,
        chain: &CallChain,
        args: Object,
        progress: impl FnMut(String) + Send,
        cancel: &CancellationToken,
        at_work: &Mutex<()>,
    ) -> ToolOutcome {
        let name = chain.tool();
        if !self.settings.tools.has(name) {
            let why = format!("there is no tool `{name}`");
            return ToolOutcome::error(ToolStatus::Failed, why);
        }
        if !tool::NAMES.contains(&name) {
            return self.host.tool_outcome(chain, args, progress).await;
        }
        if let Err(declined) = self.host.confirm(chain, &args).await {
            return declined.into();
        }
        let _at_work = at_work.lock().await;
        let outcome = self.toolbox.run(name, args, progress, cancel).await;
        outcome.expect("the toolbox has what it names")
    }

    /// A call that an extension makes, as the model would: announced, guarded, and with every tool that the model has.
    pub(crate) async fn run_nested(&self, request: ToolRequest) -> ToolOutcome {
        let ToolRequest { chain, args, .. } = request;
        let id = self.host.next_call_id();
        let (cancel, at_work) = (CancellationToken::new(), Mutex::new(()));
        let executed = std::sync::Mutex::new(None);
        // The guard drops the tool's future when the chain is cancelled, which ends it.
        let (chain, cancel, at_work, executed) = (&chain, &cancel, &at_work, &executed);
        let run = |args: Object| async move {
            *executed.lock().unwrap_or_else(PoisonError::into_inner) = Some(args.clone());
            let mut outcome = self.run_tool(chain, args, |_| {}, cancel, at_work).await;
            // The caller gets no more than this, so nobody else has to keep more.
            outcome.truncated = cut_content(&mut outcome.content, limits::CALL_TOOL_BYTES);
            outcome
        };
        let mut outcome = self.host.guarded(chain, id, args, run).await;
        outcome.extension = self.host.owner_of(chain.tool());
        let executed = executed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.record_nested(chain, executed, &outcome).await;
        outcome
    }

    /// Keeps in the session's file that an extension had a tool run.
    async fn record_nested(&self, chain: &CallChain, args: Option<Object>, outcome: &ToolOutcome) {
        let small =
            |args: &Object| serde_json::to_string(args).is_ok_and(|args| args.len() <= KEPT_ARGS);
        let call = ExtensionCall {
            extension: chain.caller().unwrap_or_default().to_owned(),
            tool: chain.tool().to_owned(),
            args: args.filter(small),
            status: outcome.status.clone(),
            time: clock::now(),
        };
        let written = self.state.lock().await.session.extension_call(&call);
        self.told(written);
    }
}

fn lines_so_far(count: u64) -> String {
    let lines = if count == 1 { "line" } else { "lines" };
    format!("{count} {lines} of output so far")
}
