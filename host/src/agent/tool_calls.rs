//! Runs the tool calls of the model and of extensions: finds each tool, and reports the call and
//! its result to the driver, the transcript and the session file.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_protocol::{InterceptName, Object, StopReason, ToolId, rpc};

use super::{Agent, events::Events};
use crate::{
    ToolOutcome, clock,
    extension::{CallChain, notes::HeldNotes},
    host::{Executor, ExtensionTools, Invocation, Progress, Running, Watcher},
    message::{Block, Role, shown_content},
    session::ExtensionCall,
    tool::{self, Toolbox},
};

/// The maximum number of unsent progress lines. Further lines are dropped.
const PROGRESS: usize = 16;
/// The maximum size, in bytes, of the arguments of an extension's call in the session file. Larger
/// arguments are not stored.
const KEPT_ARGS: usize = 4 * 1024;

/// The built-in tools.
struct BuiltinTools<'a>(&'a Toolbox);

impl Executor for BuiltinTools<'_> {
    fn execute<'e>(
        &'e self,
        chain: &'e CallChain,
        args: Object,
        progress: Progress<'e>,
    ) -> Running<'e, ToolOutcome> {
        Box::pin(async move {
            // A cancelled tool stops everything it has started before it returns.
            let running = self.0.run(chain.tool(), args, progress, chain.token());
            running
                .await
                .expect("the toolbox runs every tool in `NAMES`")
        })
    }
}

/// Reports one of the model's tool calls to the driver.
struct ModelCall<'e> {
    events: &'e Events,
    /// The event for the call; `None` once it has been sent to the driver.
    event: Option<rpc::ToolCall>,
    lines: mpsc::Sender<String>,
    count: &'e AtomicU64,
}

impl Watcher for ModelCall<'_> {
    async fn intercepted(&mut self, _: Option<&Object>, notes: HeldNotes) {
        // Cancelling the call can drop this future. The event is then still unsent.
        if let Some(event) = &self.event {
            self.events.send(event.clone()).await;
            self.event = None;
        }
        self.events.release(notes).await;
    }

    fn progress(&mut self, line: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        // Progress lines are for people to read, so lines that arrive too fast can be dropped.
        let _ = self.lines.try_send(line);
    }
}

/// Records the arguments that an extension's call was executed with.
#[derive(Default)]
struct Executed(Option<Object>);

impl Watcher for Executed {
    async fn intercepted(&mut self, args: Option<&Object>, _: HeldNotes) {
        self.0 = args.cloned();
    }
}

impl Agent {
    /// Announces all tool calls of a message, ends the model's turn, and runs the calls in order.
    /// Every call gets a result in the transcript, whatever happens.
    pub(super) async fn run_calls(
        &self,
        calls: &[rpc::ToolCall],
        malformed: &[(ToolId, String)],
        events: &Events,
        cancel: &CancellationToken,
    ) {
        // Drivers do not see arguments until the interceptors that may change them have answered.
        let held = self.host.intercepts(&InterceptName::ToolCall);
        let mut invocations = Vec::with_capacity(calls.len());
        for call in calls {
            let chain = CallChain::cancelled_by(&call.name, cancel);
            let args = call.args.clone();
            let mut invocation = Invocation::new(&self.host, call.id.clone(), chain, args);
            invocation.announce();
            invocations.push(invocation);
            if !held {
                events.send(call.clone()).await;
            }
        }
        self.end_turn(StopReason::ToolUse, None, events).await;
        for (call, mut invocation) in calls.iter().zip(invocations) {
            let mut event = held.then(|| call.clone());
            let why = malformed.iter().find(|(id, _)| *id == call.id);
            let outcome = match why {
                Some((_, why)) => invocation.refuse(why),
                None => {
                    self.run_call(call, &mut invocation, &mut event, events)
                        .await
                }
            };
            if let Some(event) = event {
                events.send(event).await;
            }
            // Save the result before it is shown, so that everything the user saw survives a crash.
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
            events.send(event).await;
            events.release(invocation.take_notes()).await;
        }
    }

    /// Runs a call and forwards its progress lines. Sets `event` to `None` if it was sent to the
    /// driver.
    async fn run_call(
        &self,
        call: &rpc::ToolCall,
        invocation: &mut Invocation<'_>,
        event: &mut Option<rpc::ToolCall>,
        events: &Events,
    ) -> ToolOutcome {
        let (to, mut lines) = mpsc::channel(PROGRESS);
        let count = AtomicU64::new(0);
        let mut watcher = ModelCall {
            events,
            event: event.take(),
            lines: to,
            count: &count,
        };
        let running = async {
            let executor = self.executor(&call.name);
            let outcome = invocation.run(executor.as_deref(), &mut watcher).await;
            // Dropping the watcher ends the forwarding.
            (outcome, watcher.event)
        };
        let forwarding = async {
            while let Some(line) = lines.recv().await {
                // If an interceptor may still change the result, which contains these lines, send
                // only their count.
                let text = if self.host.intercepts(&InterceptName::ToolResult) {
                    lines_so_far(count.load(Ordering::Relaxed))
                } else {
                    line
                };
                events
                    .send(rpc::ToolProgress::new(call.id.clone(), text))
                    .await;
            }
        };
        let ((outcome, unsent), ()) = tokio::join!(running, forwarding);
        *event = unsent;
        outcome
    }

    /// Returns the executor of a tool, or `None` if this session has no such tool.
    fn executor(&self, tool: &str) -> Option<Box<dyn Executor + '_>> {
        if !self.config.tools.has(tool) {
            return None;
        }
        Some(if tool::NAMES.contains(&tool) {
            Box::new(BuiltinTools(&self.toolbox))
        } else {
            Box::new(ExtensionTools(&self.host))
        })
    }

    /// Runs a tool call from an extension, which can call every tool that the model can.
    pub(crate) async fn run_nested(&self, chain: CallChain, args: Object) -> ToolOutcome {
        let id = self.host.next_call_id();
        let executor = self.executor(chain.tool());
        let mut executed = Executed::default();
        let mut call = Invocation::new(&self.host, id, chain.clone(), args);
        let outcome = call.run(executor.as_deref(), &mut executed).await;
        self.record_nested(&chain, executed.0, &outcome).await;
        outcome
    }

    /// Records an extension's call in the session file.
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
        self.report_write_error(written);
    }
}

fn lines_so_far(count: u64) -> String {
    let lines = if count == 1 { "line" } else { "lines" };
    format!("{count} {lines} of output so far")
}
