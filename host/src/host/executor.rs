//! Runs tools. This file runs extension tools; the agent runs the built-in ones.

use std::{pin::Pin, sync::Arc};

use serde_json::Value;
use zot_protocol::{Content, Object, ToolResult, validate::ToolSchema};

use super::{Host, HostError, ToolOutcome};
use crate::{
    Preview,
    extension::{CallChain, Tool},
};

/// Receives the progress lines of a running tool.
pub(crate) type Progress<'p> = &'p mut (dyn FnMut(String) + Send);

/// The future of a running tool call.
pub(crate) type Running<'e, T> = Pin<Box<dyn Future<Output = T> + Send + 'e>>;

/// Runs one kind of tool: extension tools or built-in tools.
pub(crate) trait Executor: Send + Sync {
    /// Checks a call before the user is asked to confirm it. Default: accepts it.
    fn check<'e>(
        &'e self,
        _chain: &'e CallChain,
        args: Object,
    ) -> Running<'e, Result<Object, ToolOutcome>> {
        Box::pin(std::future::ready(Ok(args)))
    }

    /// Returns what a call would change, for a user who is asked to confirm it. Default: unknown.
    fn preview<'e>(
        &'e self,
        _chain: &'e CallChain,
        _args: &'e Object,
    ) -> Running<'e, Option<Preview>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs the tool until it finishes or `chain` is cancelled.
    fn execute<'e>(
        &'e self,
        chain: &'e CallChain,
        args: Object,
        progress: Progress<'e>,
    ) -> Running<'e, ToolOutcome>;
}

/// The tools of all of a host's extensions.
pub(crate) struct ExtensionTools<'h>(pub(crate) &'h Host);

impl Executor for ExtensionTools<'_> {
    fn check<'e>(
        &'e self,
        chain: &'e CallChain,
        args: Object,
    ) -> Running<'e, Result<Object, ToolOutcome>> {
        Box::pin(async { Ok(self.checked(chain.tool(), args).await?) })
    }

    fn execute<'e>(
        &'e self,
        chain: &'e CallChain,
        args: Object,
        progress: Progress<'e>,
    ) -> Running<'e, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                // Dropping the call notifies the extension, if it supports cancellation.
                () = chain.cancelled() => ToolOutcome::cancelled(),
                called = self.call(chain, args, progress) => {
                    called.map_or_else(ToolOutcome::from, ToolOutcome::from)
                }
            }
        })
    }
}

/// Why a tool was not called.
pub(super) enum NotCalled {
    /// The result to return without calling the tool.
    Result(ToolResult),
    Error(HostError),
}

impl From<NotCalled> for ToolOutcome {
    fn from(refused: NotCalled) -> Self {
        match refused {
            NotCalled::Result(result) => result.into(),
            NotCalled::Error(error) => error.into(),
        }
    }
}

impl ExtensionTools<'_> {
    pub(super) async fn checked(&self, name: &str, args: Object) -> Result<Object, NotCalled> {
        self.0.members().await;
        let tool = self.tool(name).map_err(NotCalled::Error)?;
        if tool.frame.interactive && !self.0.0.shared.config.interactive {
            return Err(NotCalled::Result(error_result(format!(
                "`{name}` needs to interact with the user, but no user is present"
            ))));
        }
        if !tool.frame.strict {
            return Ok(args);
        }
        let args = Value::Object(args);
        match check(&tool, |tool| Some(&tool.arguments), args).await {
            (Value::Object(args), None) => Ok(args),
            (_, mismatch) => Err(NotCalled::Result(error_result(format!(
                "the arguments do not match the schema of `{name}`: {}",
                mismatch.unwrap_or_default()
            )))),
        }
    }

    /// Calls a tool. A result that does not match its output schema becomes an error result, so
    /// that the model sees where and why it does not match.
    pub(super) async fn call(
        &self,
        chain: &CallChain,
        args: Object,
        progress: impl FnMut(String),
    ) -> Result<ToolResult, HostError> {
        let name = chain.tool();
        let registry = self.0.registry();
        let entry = registry.tool(name);
        let entry = entry.ok_or_else(|| HostError::NoSuchTool(name.to_owned()))?;
        let tool = &entry.tool;
        let deadline = (!tool.frame.interactive).then(|| entry.member.limits.tool);
        let connection = &entry.member.connection;
        let answer = connection.tool(chain, args, deadline, progress).await;
        let mut result = answer.map_err(|error| HostError::of(&entry.extension, error))?;
        if tool.output.is_some()
            && let Some(structured) = result.structured_content.take()
        {
            let (structured, mismatch) = check(tool, |tool| tool.output.as_ref(), structured).await;
            if let Some(mismatch) = mismatch {
                return Ok(error_result(format!(
                    "the result of `{name}` does not match its output schema: {mismatch}"
                )));
            }
            result.structured_content = Some(structured);
        }
        Ok(result)
    }

    fn tool(&self, name: &str) -> Result<Arc<Tool>, HostError> {
        let registry = self.0.registry();
        let entry = registry.tool(name).map(|entry| Arc::clone(&entry.tool));
        entry.ok_or_else(|| HostError::NoSuchTool(name.to_owned()))
    }
}

/// Checks a value against a schema. Returns the value, and a description of the mismatch if there
/// is one. A large value is checked on a blocking thread.
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

/// The [`size`] from which a value is checked on a blocking thread. Checking a smaller one takes
/// microseconds, once the schema is compiled.
const LARGE: usize = 4096;

/// A rough measure of the work a value takes to check.
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
