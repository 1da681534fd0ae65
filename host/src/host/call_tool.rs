//! `call_tool`: an extension runs a tool, as the model would.

use std::sync::Arc;

use zot_protocol::{CallTool, CallToolResult, Capability, Id, Object, ToolStatus, validate};

use super::{Host, HostError, ToolOutcome};
use crate::extension::{CallChain, event::truncate_content, member::Member};

impl Host {
    /// Handles `call_tool`. The extension receives exactly one answer, unless it cancels the call,
    /// exits first, or uses the id of a running call.
    pub(super) fn handle_call_tool(self, caller: &Arc<Member>, call: CallTool) {
        // Do not answer: the extension would mistake the answer for that of the running call with
        // the same id.
        if caller.calls.is_running(&call.id) {
            let id = call.id.as_str();
            return caller.log(&format!("ignored call_tool: the id {id:?} is in use"));
        }
        let admitted = self.admit(caller, &call);
        let CallTool { id, name, args, .. } = call;
        let chain = match admitted {
            Ok(chain) => chain,
            Err(why) => {
                let refused = ToolOutcome::error(ToolStatus::Blocked, why);
                return self.answer(caller, id, &name, refused);
            }
        };
        if !caller.calls.begin(&id, &chain) {
            return caller.log("ignored call_tool: the extension is shutting down");
        }
        let caller = Arc::clone(caller);
        caller.runtime.clone().spawn(async move {
            let outcome = self.run_nested(chain.clone(), args).await;
            if caller.calls.end(&chain) {
                self.answer(&caller, id, &name, outcome);
            }
        });
    }

    /// Runs a tool call from an extension. If there is an agent, the built-in tools can be called
    /// as well.
    async fn run_nested(&self, chain: CallChain, args: Object) -> ToolOutcome {
        #[cfg(feature = "agent")]
        if let Some(agent) = self.0.agent.get().and_then(std::sync::Weak::upgrade) {
            return agent.run_nested(chain, args).await;
        }
        self.run_tool(chain, args, |_| {}).await
    }

    fn admit(&self, caller: &Member, call: &CallTool) -> Result<CallChain, String> {
        let limits = &self.0.shared.config.limits;
        caller.may_call(&call.name)?;
        if !caller.connection.registered().can(&Capability::CallTool) {
            return Err(
                "call_tool is not enabled: list `call_tool` in the capabilities of hello".into(),
            );
        }
        if caller.calls.count() >= limits.call_tools {
            return Err(format!(
                "{} already has {} calls running",
                caller.name(),
                limits.call_tools
            ));
        }
        if self.registry().tool(&call.name).is_none()
            && !self.0.shared.config.builtins.has_tool(&call.name)
        {
            return Err(HostError::NoSuchTool(call.name.clone()).to_string());
        }
        let args = serde_json::to_string(&call.args).unwrap_or_default();
        let (bytes, values) = (args.len(), validate::weight(args.as_bytes()));
        if bytes > limits.call_tool_bytes {
            return Err(format!(
                "the arguments are {bytes} bytes, over the call_tool limit of {}",
                limits.call_tool_bytes
            ));
        }
        if values > limits.call_tool_values {
            return Err(format!(
                "the arguments have {values} values, over the call_tool limit of {}",
                limits.call_tool_values
            ));
        }
        let Some(parent) = &call.parent_id else {
            return Ok(CallChain::by(&caller.calls.caller, &call.name));
        };
        let parent = caller.connection.running(parent).ok_or_else(|| {
            format!(
                "parent_id {:?} is not a pending tool_call of {}",
                parent.as_str(),
                caller.name()
            )
        })?;
        parent
            .call(&caller.calls.caller, &call.name, limits.call_tool_depth)
            .map_err(|refused| refused.to_string())
    }

    fn answer(&self, caller: &Member, id: Id, name: &str, outcome: ToolOutcome) {
        let mut content = outcome.content;
        let cut = truncate_content(&mut content, self.0.shared.config.limits.call_tool_bytes);
        let mut result = CallToolResult::new(id, name, content, outcome.is_error);
        result.truncated = cut || outcome.truncated;
        // An extension that has exited needs no answer.
        let _ = caller.connection.send(&result.into());
    }
}
