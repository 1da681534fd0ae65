//! Runs the tool calls of the model and of extensions: finds each tool, and reports the call and
//! its result to the driver, the transcript and the session file.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::{StreamExt, stream::FuturesOrdered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_protocol::{InterceptName, Object, StopReason, ToolId, ToolStatus, rpc};

use super::{Agent, events::Events, images};
use crate::{
    Preview, ToolOutcome, clock,
    extension::{CallChain, notes::HeldNotes},
    host::{Executor, ExtensionTools, Invocation, Progress, Running, Watcher},
    message::{Block, Role, shown_content},
    session::{ExtensionCall, Mark},
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
    fn preview<'e>(
        &'e self,
        chain: &'e CallChain,
        args: &'e Object,
    ) -> Running<'e, Option<Preview>> {
        Box::pin(self.0.preview(chain.tool(), args.clone()))
    }

    fn execute<'e>(
        &'e self,
        chain: &'e CallChain,
        args: Object,
        progress: Progress<'e>,
    ) -> Running<'e, ToolOutcome> {
        Box::pin(async move {
            // A background command would outlive the extension's call, and could not be cancelled
            // with it.
            let in_background = args.get("run_in_background").is_some_and(|it| *it != false);
            if chain.caller().is_some() && in_background {
                return ToolOutcome::error(
                    ToolStatus::Failed,
                    "an extension cannot run a command in the background",
                );
            }
            // Wait even if the call is cancelled: a tool stops everything it has started before it
            // returns.
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
        // Clear the event only after sending it: if the call is cancelled, this future may be
        // dropped before the event is sent.
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

/// A call by the model that has been announced but has not run.
struct AnnouncedCall<'c> {
    call: &'c rpc::ToolCall,
    invocation: Invocation<'c>,
    /// Why the call cannot run, if it is malformed.
    malformed: Option<&'c (ToolId, String)>,
    /// The event for the call; `None` once it has been sent to the driver.
    event: Option<rpc::ToolCall>,
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
    /// Announces all tool calls in a message, ends the model's turn, and runs the calls. Every call
    /// gets a result in the transcript, in order, whatever happens.
    pub(super) async fn run_calls(
        &self,
        calls: &[rpc::ToolCall],
        malformed: &[(ToolId, String)],
        events: &Events,
        cancel: &CancellationToken,
    ) {
        // Drivers do not see arguments until the interceptors that may change them have answered.
        let held = self.host.intercepts(&InterceptName::ToolCall);
        let mut announced = Vec::with_capacity(calls.len());
        for call in calls {
            let chain = CallChain::cancelled_by(&call.name, cancel);
            let args = call.args.clone();
            let mut invocation = Invocation::new(&self.host, call.id.clone(), chain, args);
            invocation.announce();
            announced.push(AnnouncedCall {
                call,
                invocation,
                malformed: malformed.iter().find(|(id, _)| *id == call.id),
                event: held.then(|| call.clone()),
            });
            if !held {
                events.send(call.clone()).await;
            }
        }
        self.end_turn(StopReason::ToolUse, None, events).await;
        let mut announced = announced.into_iter().peekable();
        while let Some(first) = announced.next() {
            let mut batch = vec![first];
            while self.is_read_only(batch[0].call)
                && let Some(next) = announced.next_if(|it| self.is_read_only(it.call))
            {
                batch.push(next);
            }
            self.run_batch(batch, events, cancel).await;
        }
    }

    /// Reports whether a call only reads, so that it can run in parallel with others.
    fn is_read_only(&self, call: &rpc::ToolCall) -> bool {
        tool::READ_ONLY.contains(&&*call.name) && self.is_builtin(&call.name)
    }

    /// Runs calls in parallel. Reports their results in order.
    async fn run_batch(
        &self,
        mut batch: Vec<AnnouncedCall<'_>>,
        events: &Events,
        cancel: &CancellationToken,
    ) {
        if batch.len() > 1 {
            // Ask the interceptors about one call at a time, so that they have the full time for
            // each.
            let turns = Arc::default();
            for it in &mut batch {
                it.invocation.take_turns(Arc::clone(&turns));
            }
        }
        let running = batch.into_iter().map(|mut it| async {
            let outcome = match it.malformed {
                Some((_, why)) => it.invocation.refuse(why),
                None => self.run_call(&mut it, events).await,
            };
            (it, outcome)
        });
        let mut running: FuturesOrdered<_> = running.collect();
        while let Some((it, outcome)) = running.next().await {
            self.report_result(it, outcome, events, cancel).await;
        }
    }

    async fn report_result(
        &self,
        mut ended: AnnouncedCall<'_>,
        mut outcome: ToolOutcome,
        events: &Events,
        cancel: &CancellationToken,
    ) {
        let id = &ended.call.id;
        if let Some(event) = ended.event {
            events.send(event).await;
        }
        let is_foreign =
            outcome.extension.is_some() || self.host.intercepts(&InterceptName::ToolResult);
        images::fit_result(&mut outcome.content, is_foreign, cancel).await;
        // Save the result before it is shown, so that everything the user saw survives a crash.
        let result = Block::ToolResult {
            call_id: id.clone(),
            is_error: outcome.is_error,
            content: outcome.content.clone(),
        };
        self.append(Role::Tool, vec![result]).await;
        let is_obvious = match outcome.status {
            ToolStatus::Completed => !outcome.is_error,
            ToolStatus::Failed => outcome.is_error,
            _ => false,
        };
        if !is_obvious || outcome.extension.is_some() {
            self.mark(&Mark::ToolEnd {
                call_id: id.clone(),
                status: outcome.status.clone(),
                extension: outcome.extension.clone(),
            })
            .await;
        }
        let content = shown_content(&outcome.content);
        let mut event = rpc::ToolResult::new(id.clone(), outcome.is_error, content);
        event.extension = outcome.extension;
        event.status = Some(outcome.status);
        events.send(event).await;
        events.release(ended.invocation.take_notes()).await;
    }

    /// Runs a call and forwards its progress lines.
    async fn run_call(&self, announced: &mut AnnouncedCall<'_>, events: &Events) -> ToolOutcome {
        let AnnouncedCall {
            call,
            invocation,
            event,
            ..
        } = announced;
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
            // The watcher is dropped here, which ends the forwarding.
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

    /// Returns the executor of a tool, or `None` if the tool is not offered in this session.
    fn executor(&self, tool: &str) -> Option<Box<dyn Executor + '_>> {
        if !self.config.tools.has(tool) {
            return None;
        }
        Some(if self.is_builtin(tool) {
            Box::new(BuiltinTools(&self.toolbox))
        } else {
            Box::new(ExtensionTools(&self.host))
        })
    }

    /// Reports whether this name currently belongs to a built-in tool.
    pub(super) fn is_builtin(&self, name: &str) -> bool {
        let is_replaced = || self.host.registry().tool(name).is_some();
        tool::NAMES.contains(&name) || tool::REPLACEABLE.contains(&name) && !is_replaced()
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
