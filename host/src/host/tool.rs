//! Tool calls: to an extension, and all that a call goes through.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use zot_protocol::{
    Content, Intercept, Object, ToolCallEvent, ToolCallIntercept, ToolId, ToolResult,
    ToolResultEvent, ToolResultIntercept, ToolStatus, rpc, validate::ToolSchema,
};

use super::{Host, HostError, slot::Slot};
use crate::{
    Confirmed,
    extension::{CallChain, RequestError, Tool, chain::Outcome},
};

/// How long a call of one extension waits for others to read what they were sent.
const CATCHING_UP: Duration = Duration::from_secs(1);

/// How a tool call has ended that went through interception.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model gets to see.
    pub content: Vec<Content>,
    /// Whether it is an error.
    pub is_error: bool,
    /// The result as a value, where the tool gave one and nobody replaced its content.
    pub structured_content: Option<Value>,
    /// Whether `content` was cut to its limit.
    pub truncated: bool,
    /// The extension whose tool it is; `None` where there is no such tool.
    pub extension: Option<String>,
}

impl ToolOutcome {
    /// An error that the model is told in words.
    pub fn error(status: ToolStatus, why: impl Into<String>) -> Self {
        Self {
            status,
            content: vec![Content::text(why)],
            is_error: true,
            structured_content: None,
            truncated: false,
            extension: None,
        }
    }
}

impl From<ToolResult> for ToolOutcome {
    fn from(result: ToolResult) -> Self {
        Self {
            status: if result.is_error {
                ToolStatus::Failed
            } else {
                ToolStatus::Completed
            },
            content: result.content,
            is_error: result.is_error,
            structured_content: result.structured_content,
            truncated: false,
            extension: None,
        }
    }
}

impl From<HostError> for ToolOutcome {
    fn from(error: HostError) -> Self {
        Self::error(status_of(&error), error.to_string())
    }
}

impl Host {
    /// Calls a tool of an extension. Lines of progress go to `progress`. Arguments or results that do not fit a schema
    /// that the tool insists on are an error result, which tells the model where and why.
    pub async fn tool(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String),
    ) -> Result<ToolResult, HostError> {
        self.tool_in(&CallChain::new(name), args, progress).await
    }

    /// Calls a tool of an extension as [`Host::tool`] does: the one at the end of `chain`, which the extension's own
    /// calls then continue.
    pub async fn tool_in(
        &self,
        chain: &CallChain,
        args: Object,
        progress: impl FnMut(String),
    ) -> Result<ToolResult, HostError> {
        self.members().await;
        let name = chain.tool();
        let registry = self.registry();
        let entry = registry
            .tool(name)
            .ok_or_else(|| HostError::NoSuchTool(name.to_owned()))?;
        let tool = &entry.tool;
        if tool.frame.interactive && !self.0.shared.interactive {
            return Ok(error_result(format!(
                "`{name}` talks with the user, and there is none to talk with here"
            )));
        }
        let mut args = Value::Object(args);
        if tool.frame.strict {
            let (checked, mismatch) = check(tool, |tool| Some(&tool.arguments), args).await;
            if let Some(mismatch) = mismatch {
                return Ok(error_result(format!(
                    "the arguments do not fit the schema of `{name}`: {mismatch}"
                )));
            }
            args = checked;
        }
        let Value::Object(args) = args else {
            unreachable!("wrapped above, and checking changes nothing")
        };
        self.confirm(chain, &args).await?;
        let deadline = (!tool.frame.interactive).then(|| entry.member.tool_deadline());
        let connection = &entry.member.connection;
        let answer = connection.tool(chain, args, deadline, progress).await;
        let mut result = answer.map_err(|error| HostError::of(&entry.extension, error))?;
        if tool.output.is_some()
            && let Some(structured) = result.structured_content.take()
        {
            let (structured, mismatch) = check(tool, |tool| tool.output.as_ref(), structured).await;
            if let Some(mismatch) = mismatch {
                return Ok(error_result(format!(
                    "the result of `{name}` does not fit its output schema: {mismatch}"
                )));
            }
            result.structured_content = Some(structured);
        }
        Ok(result)
    }

    /// Asks the program around this host whether a call may be made.
    pub(crate) async fn confirm(&self, chain: &CallChain, args: &Object) -> Result<(), HostError> {
        let tool = chain.tool();
        match self
            .0
            .shared
            .hooks
            .confirm(chain.caller(), tool, args)
            .await
        {
            Confirmed::Yes => Ok(()),
            Confirmed::No => Err(HostError::Declined(tool.to_owned())),
        }
    }

    /// Runs a tool of an extension through everything that a call goes through: the event, the interceptors of the
    /// call, the tool, the interceptors of its result, the event of its end. When `chain` is cancelled it ends at once,
    /// as cancelled.
    pub async fn run_tool(
        &self,
        chain: CallChain,
        args: Object,
        progress: impl FnMut(String) + Send,
    ) -> ToolOutcome {
        let id = self.next_call_id();
        if chain.caller().is_none() {
            self.announce(&id, &chain, &args);
        }
        let extension = self.owner_of(chain.tool());
        let run = |args| self.tool_outcome(&chain, args, progress);
        let mut outcome = self.guarded(&chain, id, args, run).await;
        outcome.extension = extension;
        outcome
    }

    /// The extension whose tool this is, if it is any extension's.
    pub fn owner_of(&self, tool: &str) -> Option<String> {
        let registry = self.registry();
        registry.tool(tool).map(|entry| entry.extension.clone())
    }

    /// A name for a call that no model has named.
    pub fn next_call_id(&self) -> ToolId {
        ToolId::from(format!("call-{}", self.0.shared.ids.next()))
    }

    /// Tells observers of a call that is about to be made.
    pub(crate) fn announce(&self, id: &ToolId, chain: &CallChain, args: &Object) {
        let mut call = ToolCallEvent::new(chain.tool(), args.clone());
        call.tool_id = Some(id.clone());
        call.caller = chain.caller().map(str::to_owned);
        self.tell(&call.into());
    }

    /// Calls a tool of an extension as [`Host::tool_in`] does; an error is an outcome that the model gets.
    pub(crate) async fn tool_outcome(
        &self,
        chain: &CallChain,
        args: Object,
        progress: impl FnMut(String) + Send,
    ) -> ToolOutcome {
        match self.tool_in(chain, args, progress).await {
            Ok(result) => ToolOutcome::from(result),
            Err(error) => ToolOutcome::from(error),
        }
    }

    /// Takes a call through the interceptors before and after it, and tells observers of its end. `run` is the tool; it
    /// gets the arguments as the interceptors left them. The model's calls have been announced; an extension's are
    /// announced here, when it is their turn. When `chain` is cancelled the call ends at once, as cancelled.
    pub(crate) async fn guarded<R: Future<Output = ToolOutcome> + Send>(
        &self,
        chain: &CallChain,
        id: ToolId,
        args: Object,
        run: impl FnOnce(Object) -> R + Send,
    ) -> ToolOutcome {
        let mut call = GuardedCall {
            host: self,
            chain,
            id,
            args,
            announced: chain.caller().is_none(),
            shown: false,
        };
        let outcome = tokio::select! {
            biased;
            () = chain.cancelled() => ToolOutcome::error(ToolStatus::Cancelled, "cancelled"),
            outcome = call.run(run) => outcome,
        };
        call.end(&outcome);
        outcome
    }

    /// Tells observers how a call has ended that was announced.
    pub(crate) fn tell_end(
        &self,
        id: &ToolId,
        chain: &CallChain,
        args: &Object,
        outcome: &ToolOutcome,
    ) {
        let (content, status) = (outcome.content.clone(), outcome.status.clone());
        let (id, args) = (id.clone(), args.clone());
        let mut end =
            ToolResultEvent::new(id, chain.tool(), args, status, content, outcome.is_error);
        end.caller = chain.caller().map(str::to_owned);
        self.tell(&end.into());
    }

    /// Waits until every extension has taken what it was sent, but not for ever: one that is stuck holds up nobody's calls.
    async fn caught_up(&self) {
        let slots = self.0.slots();
        let all = async {
            for slot in slots.iter() {
                if let Slot::Started(member) = slot {
                    member.connection.caught_up().await;
                }
            }
        };
        let _ = tokio::time::timeout(CATCHING_UP, all).await;
    }
}

/// A tool call between its interceptors.
struct GuardedCall<'h> {
    host: &'h Host,
    chain: &'h CallChain,
    id: ToolId,
    /// As the interceptors that were asked so far left them.
    args: Object,
    /// Whether observers know of it.
    announced: bool,
    /// Whether the user knows of it, where an extension makes it.
    shown: bool,
}

impl GuardedCall<'_> {
    async fn run<R: Future<Output = ToolOutcome> + Send>(
        &mut self,
        run: impl FnOnce(Object) -> R + Send,
    ) -> ToolOutcome {
        let turn = self.chain.turn().await;
        if turn.is_some() {
            // A flood of calls waits for the slowest observer instead of overflowing its queue.
            self.host.caught_up().await;
            self.host.announce(&self.id, self.chain, &self.args);
            self.announced = true;
        }
        let mut call = ToolCallIntercept::new(self.chain.tool(), self.args.clone());
        call.tool_id = Some(self.id.clone());
        call.caller = self.chain.caller().map(str::to_owned);
        match self.ask(turn, call.into()).await.result {
            Ok(Intercept::ToolCall(call)) => self.args = call.tool_args,
            Ok(_) => unreachable!("a chain keeps the kind of its event"),
            Err(block) => return ToolOutcome::error(ToolStatus::Blocked, block.reason),
        }
        self.show();
        let mut outcome = run(self.args.clone()).await;
        let (args, content) = (self.args.clone(), outcome.content.clone());
        let (id, name) = (self.id.clone(), self.chain.tool());
        let mut result = ToolResultIntercept::new(id, name, args, content, outcome.is_error);
        result.caller = self.chain.caller().map(str::to_owned);
        let turn = self.chain.turn().await;
        match self.ask(turn, result.into()).await.result {
            Ok(Intercept::ToolResult(result)) if result.content != outcome.content => {
                outcome.content = result.content;
                outcome.structured_content = None;
                outcome
            }
            Ok(_) => outcome,
            Err(block) => ToolOutcome::error(ToolStatus::Blocked, block.reason),
        }
    }

    /// Asks the interceptors. A question about an extension's call, once sent, keeps that extension's turn until it is
    /// answered or its time is over, also when the call is cancelled meanwhile: an extension that calls and cancels in
    /// a loop has one question open, and no more.
    async fn ask(&self, turn: Option<OwnedMutexGuard<()>>, event: Intercept) -> Outcome {
        let Some(turn) = turn else {
            return self.host.intercept(event).await;
        };
        let host = self.host.clone();
        let asking = tokio::spawn(async move {
            let outcome = host.intercept(event).await;
            drop(turn);
            outcome
        });
        asking.await.expect("a chain does not panic")
    }

    /// Shows the user that an extension runs a tool, once the interceptors have been asked.
    fn show(&mut self) {
        if let Some(caller) = self.chain.caller()
            && !std::mem::replace(&mut self.shown, true)
        {
            let (id, args) = (self.id.clone(), self.args.clone());
            let call = rpc::ExtToolCall::new(caller, id, self.chain.tool(), args);
            self.host.0.shared.hooks.extension_call(call);
        }
    }

    fn end(&mut self, outcome: &ToolOutcome) {
        if !self.announced {
            return;
        }
        self.host
            .tell_end(&self.id, self.chain, &self.args, outcome);
        if let Some(caller) = self.chain.caller() {
            self.show();
            let (id, status) = (self.id.clone(), outcome.status.clone());
            let result = rpc::ExtToolResult::new(caller, id, self.chain.tool(), status);
            self.host.0.shared.hooks.extension_call_ended(result);
        }
    }
}

fn status_of(error: &HostError) -> ToolStatus {
    match error {
        HostError::Extension {
            error: RequestError::Timeout(_),
            ..
        } => ToolStatus::TimedOut,
        HostError::Declined(_) => ToolStatus::Blocked,
        _ => ToolStatus::Failed,
    }
}

/// Checks a value, and gives it back with what does not fit. A large one is checked where that holds up nobody else.
async fn check(
    tool: &Arc<Tool>,
    schema: fn(&Tool) -> Option<&ToolSchema>,
    value: Value,
) -> (Value, Option<String>) {
    let mismatch = move |tool: &Tool, value: &Value| {
        let checked = schema(tool)?.check(value);
        checked.err().map(|mismatch| mismatch.to_string())
    };
    if size(&value) < LARGE {
        let mismatch = mismatch(tool, &value);
        return (value, mismatch);
    }
    let tool = Arc::clone(tool);
    let checking = tokio::task::spawn_blocking(move || {
        let mismatch = mismatch(&tool, &value);
        (value, mismatch)
    });
    checking.await.expect("checking a value does not panic")
}

/// In the units of [`size`]: checking less takes microseconds, but for the first time, when the schema is compiled.
const LARGE: usize = 4096;

/// Roughly how much there is to look at.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        Value::String(text) => 1 + text.len() / 16,
        _ => 1,
    }
}

fn error_result(text: String) -> ToolResult {
    let mut result = ToolResult::new("", vec![Content::text(text)]);
    result.is_error = true;
    result
}
