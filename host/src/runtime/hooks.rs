//! Passes the host's hooks on to the embedding program, except that the agent runs tools, since it
//! also has the built-in ones.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock, Weak},
};

use zot_protocol::{NoteLevel, Object, OpenPanel, PanelClose, PanelRender, rpc};

use crate::{Confirmed, Hooks, Host, ToolOutcome, ToolRequest, agent::Agent};

/// The hooks that the host calls.
pub(super) struct Relay {
    outer: Arc<dyn Hooks>,
    agent: OnceLock<Weak<Agent>>,
}

impl Relay {
    pub(super) fn new(outer: Arc<dyn Hooks>) -> Arc<Self> {
        Arc::new(Self {
            outer,
            agent: OnceLock::new(),
        })
    }

    /// Sets the agent that runs tools. Must be called before any extension starts.
    pub(super) fn attach(&self, agent: &Arc<Agent>) {
        let _ = self.agent.set(Arc::downgrade(agent));
    }
}

impl Hooks for Relay {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        self.outer.note(extension, level, message);
    }

    fn notice(&self, level: NoteLevel, message: &str) {
        self.outer.notice(level, message);
    }

    fn clear_notes(&self, extension: &str) {
        self.outer.clear_notes(extension);
    }

    fn open_panel(&self, extension: &str, panel: OpenPanel) {
        self.outer.open_panel(extension, panel);
    }

    fn render_panel(&self, extension: &str, render: PanelRender) {
        self.outer.render_panel(extension, render);
    }

    fn close_panel(&self, extension: &str, close: PanelClose) {
        self.outer.close_panel(extension, close);
    }

    fn gone(&self, extension: &str) {
        self.outer.gone(extension);
    }

    fn submit(&self, extension: &str, text: &str) {
        self.outer.submit(extension, text);
    }

    fn extension_call(&self, call: rpc::ExtToolCall) {
        self.outer.extension_call(call);
    }

    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        self.outer.extension_call_ended(result);
    }

    fn confirm<'h>(
        &'h self,
        caller: Option<&'h str>,
        tool: &'h str,
        args: &'h Object,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        self.outer.confirm(caller, tool, args)
    }

    fn run_tool<'h>(
        &'h self,
        host: &'h Host,
        request: ToolRequest,
    ) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'h>> {
        match self.agent.get().and_then(Weak::upgrade) {
            Some(agent) => Box::pin(async move { agent.run_nested(request).await }),
            None => Box::pin(host.run_tool(request.chain, request.args, |_| {})),
        }
    }
}
