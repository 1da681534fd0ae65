//! The tools that an answer calls, one after the other, each through interception, and their results.

use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use zot_protocol::{Object, StopReason, ToolId, ToolStatus, rpc};

use super::{Agent, events::Events};
use crate::{
    ToolOutcome, ToolRequest,
    extension::CallChain,
    message::{Block, Role, shown_content},
    tool,
};

/// How many lines of progress may wait; what comes faster than it is shown is left out.
const PROGRESS: usize = 16;

/// A call as it stands in a message.
pub(super) struct Call {
    id: ToolId,
    name: String,
    args: Object,
}

impl Call {
    pub(super) fn of(block: &Block) -> Option<Self> {
        let Block::ToolCall { id, name, args } = block else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            name: name.clone(),
            args: args.clone(),
        })
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
        for call in calls {
            self.host.announce(&call.id, &call.name, &call.args);
            let event = rpc::ToolCall::new(call.id.clone(), &call.name, call.args.clone());
            events.tell(event).await;
        }
        self.end_turn(StopReason::ToolUse, None, events).await;
        for call in calls {
            let why = malformed.iter().find(|(id, _)| *id == call.id);
            let outcome = match why {
                Some((_, why)) => self.refused(call, why),
                None => self.run_call(call, events, cancel).await,
            };
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
            .tell_end(&call.id, &call.name, &call.args, &outcome);
        outcome
    }

    async fn run_call(
        &self,
        call: &Call,
        events: &Events,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let chain = CallChain::new(&call.name);
        let (to, mut lines) = mpsc::channel(PROGRESS);
        let progress = move |line| {
            // Shown to a person, who could not have read it either.
            let _ = to.try_send(line);
        };
        let forwarding = async {
            while let Some(text) = lines.recv().await {
                events
                    .tell(rpc::ToolProgress::new(call.id.clone(), text))
                    .await;
            }
        };
        let at_work = Mutex::new(());
        let run = |args| self.run_tool(&chain, args, progress, cancel, &at_work);
        let guarded = async {
            let guarded = self
                .host
                .guarded(&chain, call.id.clone(), call.args.clone(), run);
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
        outcome.extension = self.host.owner_of(&call.name);
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
        if let Err(declined) = self.host.confirm(name, &args).await {
            return declined.into();
        }
        let _at_work = at_work.lock().await;
        let outcome = self.toolbox.run(name, args, progress, cancel).await;
        outcome.expect("the toolbox has what it names")
    }

    /// A call that an extension makes, as the model would: announced, guarded, and with every tool there is.
    pub(crate) async fn run_nested(&self, request: ToolRequest) -> ToolOutcome {
        let ToolRequest { chain, args, .. } = request;
        let id = self.host.next_call_id();
        self.host.announce(&id, chain.tool(), &args);
        let (cancel, at_work) = (CancellationToken::new(), Mutex::new(()));
        // The guard drops the tool's future when the chain is cancelled, which ends it.
        let run = |args| self.run_tool(&chain, args, |_| {}, &cancel, &at_work);
        let mut outcome = self.host.guarded(&chain, id, args, run).await;
        outcome.extension = self.host.owner_of(chain.tool());
        outcome
    }
}
