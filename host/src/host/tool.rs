//! Tool calls: to an extension, and all that a call goes through.

use std::sync::Arc;

use serde_json::Value;
use zot_protocol::{
    Content, Intercept, Object, ToolCallEvent, ToolCallIntercept, ToolId, ToolResult,
    ToolResultEvent, ToolResultIntercept, ToolStatus, validate::ToolSchema,
};

use super::{Host, HostError};
use crate::{
    Confirmed,
    extension::{CallChain, RequestError, Tool},
};

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
        self.confirm(name, &args).await?;
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
    pub(crate) async fn confirm(&self, tool: &str, args: &Object) -> Result<(), HostError> {
        match self.0.shared.hooks.confirm(tool, args).await {
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
        self.announce(&id, chain.tool(), &args);
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

    /// Tells of a call that somebody wants to make.
    pub fn announce(&self, id: &ToolId, tool: &str, args: &Object) {
        let mut call = ToolCallEvent::new(tool, args.clone());
        call.tool_id = Some(id.clone());
        self.tell(&call.into());
    }

    /// Calls a tool of an extension as [`Host::tool_in`] does; an error is an outcome that the model is told.
    pub async fn tool_outcome(
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

    /// A call that has been announced, through the interceptors before and after it and the event of its end; `run` is
    /// the tool, whoever has it, and gets the arguments as the interceptors left them. When `chain` is cancelled it ends
    /// at once, as cancelled.
    pub async fn guarded<R: Future<Output = ToolOutcome> + Send>(
        &self,
        chain: &CallChain,
        id: ToolId,
        args: Object,
        run: impl FnOnce(Object) -> R + Send,
    ) -> ToolOutcome {
        let name = chain.tool();
        let mut executed = args.clone();
        let outcome = tokio::select! {
            biased;
            () = chain.cancelled() => ToolOutcome::error(ToolStatus::Cancelled, "cancelled"),
            outcome = self.intercepted(name, &id, args, &mut executed, run) => outcome,
        };
        self.tell_end(&id, name, &executed, &outcome);
        outcome
    }

    /// Tells how a call has ended that was announced.
    pub fn tell_end(&self, id: &ToolId, tool: &str, executed: &Object, outcome: &ToolOutcome) {
        let (content, status) = (outcome.content.clone(), outcome.status.clone());
        let (id, args) = (id.clone(), executed.clone());
        let end = ToolResultEvent::new(id, tool, args, status, content, outcome.is_error);
        self.tell(&end.into());
    }

    async fn intercepted<R: Future<Output = ToolOutcome> + Send>(
        &self,
        name: &str,
        id: &ToolId,
        args: Object,
        executed: &mut Object,
        run: impl FnOnce(Object) -> R + Send,
    ) -> ToolOutcome {
        let mut call = ToolCallIntercept::new(name, args);
        call.tool_id = Some(id.clone());
        match self.intercept(call.into()).await.result {
            Ok(Intercept::ToolCall(call)) => executed.clone_from(&call.tool_args),
            Ok(_) => unreachable!("a chain keeps the kind of its event"),
            Err(block) => return ToolOutcome::error(ToolStatus::Blocked, block.reason),
        }
        let mut outcome = run(executed.clone()).await;
        let (args, content) = (executed.clone(), outcome.content.clone());
        let result = ToolResultIntercept::new(id.clone(), name, args, content, outcome.is_error);
        match self.intercept(result.into()).await.result {
            Ok(Intercept::ToolResult(result)) if result.content != outcome.content => {
                outcome.content = result.content;
                outcome.structured_content = None;
                outcome
            }
            Ok(_) => outcome,
            Err(block) => ToolOutcome::error(ToolStatus::Blocked, block.reason),
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
