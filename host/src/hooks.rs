//! What a host asks of the program around it.

use std::pin::Pin;

use zot_protocol::{NoteLevel, Object, OpenPanel, PanelClose, PanelRender, rpc};

use crate::{Host, ToolOutcome, extension::CallChain};

/// A tool that an extension wants to be run, as the model's calls are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolRequest {
    /// The extension that asks.
    pub extension: String,
    /// The call, and those it is made in; its last tool is the one to run.
    pub chain: CallChain,
    /// The arguments.
    pub args: Object,
}

impl ToolRequest {
    pub(crate) fn new(extension: &str, chain: CallChain, args: Object) -> Self {
        Self {
            extension: extension.to_owned(),
            chain,
            args,
        }
    }
}

/// What the user says of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// It may be run.
    Yes,
    /// It may not; the model is told so.
    No,
}

/// The program around a host: a terminal, a driver's pipe, a test. Every method has a default that does nothing, and
/// none may block or panic; they are called in the order in which things happened. Texts are as the extension sent them:
/// whoever shows them in a terminal strips control sequences first.
pub trait Hooks: Send + Sync {
    /// An extension has a note for the user, or the host has one about an extension.
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let _ = (extension, level, message);
    }

    /// The host has a line for the user that is about no extension in particular.
    fn notice(&self, level: NoteLevel, message: &str) {
        let _ = (level, message);
    }

    /// An extension takes its notes back.
    fn clear_notes(&self, extension: &str) {
        let _ = extension;
    }

    /// An extension opens a panel.
    fn open_panel(&self, extension: &str, panel: OpenPanel) {
        let _ = (extension, panel);
    }

    /// An extension draws a panel anew.
    fn render_panel(&self, extension: &str, render: PanelRender) {
        let _ = (extension, render);
    }

    /// An extension closes a panel.
    fn close_panel(&self, extension: &str, close: PanelClose) {
        let _ = (extension, close);
    }

    /// An extension has ended by itself; its panels and notes end with it. A note has said why.
    fn gone(&self, extension: &str) {
        let _ = extension;
    }

    /// An extension wants a tool to be run, by `call_tool`: through interception and whatever else a tool call goes
    /// through in this program, its own tools included. By default, [`Host::run_tool`].
    fn run_tool<'h>(
        &'h self,
        host: &'h Host,
        request: ToolRequest,
    ) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'h>> {
        Box::pin(host.run_tool(request.chain, request.args, |_| {}))
    }

    /// Asks whether a tool may be run, after the interceptors and with the arguments as they left them. `caller` is the
    /// extension that makes the call; `None`: the model. By default, it may. The question is dropped when the call is
    /// cancelled.
    fn confirm<'h>(
        &'h self,
        caller: Option<&'h str>,
        tool: &'h str,
        args: &'h Object,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        let _ = (caller, tool, args);
        Box::pin(std::future::ready(Confirmed::Yes))
    }

    /// An extension runs a tool, and the interceptors have been asked about it.
    fn extension_call(&self, call: rpc::ExtToolCall) {
        let _ = call;
    }

    /// A tool that an extension ran has ended, or was refused.
    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        let _ = result;
    }

    /// An extension wants a prompt to be queued. Blank ones do not come here, and none where there is no user.
    fn submit(&self, extension: &str, text: &str) {
        let _ = (extension, text);
    }
}

/// Hooks that do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
