//! The callbacks from a host into the program that embeds it.

use std::pin::Pin;

use zot_protocol::{NoteLevel, Object, OpenPanel, PanelClose, PanelRender, rpc};

/// The user's answer to a confirmation prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// Run the tool.
    Yes,
    /// Do not run it; the model receives a refusal.
    No,
}

/// The program that embeds a host, such as a terminal UI, a driver over a pipe, or a test. Every
/// method has a default that does nothing. None of them may block, panic or call back into the host. They are called in the
/// order of the events that they report. Text arrives as the extension sent it, so strip control
/// sequences before writing it to a terminal.
#[expect(unused_variables, reason = "the defaults do nothing")]
pub trait Hooks: Send + Sync {
    /// An extension sent a note for the user, or the host has one about an extension.
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {}

    /// The host has a message for the user that does not concern an extension.
    fn notice(&self, level: NoteLevel, message: &str) {}

    /// An extension cleared its notes.
    fn clear_notes(&self, extension: &str) {}

    /// An extension opened a panel.
    fn open_panel(&self, extension: &str, panel: OpenPanel) {}

    /// An extension redrew a panel.
    fn render_panel(&self, extension: &str, render: PanelRender) {}

    /// An extension closed a panel.
    fn close_panel(&self, extension: &str, close: PanelClose) {}

    /// An extension exited by itself; remove its panels and notes. A note has already said why.
    fn gone(&self, extension: &str) {}

    /// Asks whether to run a tool, with the arguments as the interceptors left them. `caller` is
    /// the extension that makes the call, or `None` for the model. Default: yes. The future is
    /// dropped if the call is cancelled.
    fn confirm<'h>(
        &'h self,
        caller: Option<&'h str>,
        tool: &'h str,
        args: &'h Object,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        Box::pin(std::future::ready(Confirmed::Yes))
    }

    /// An extension called a tool, and the interceptors have answered.
    fn extension_call(&self, call: rpc::ExtToolCall) {}

    /// An extension's tool call finished or was refused.
    fn extension_call_ended(&self, result: rpc::ExtToolResult) {}

    /// An extension submitted a prompt to queue. Never called with blank text, or if the host is
    /// not interactive.
    fn submit(&self, extension: &str, text: &str) {}
}

/// Hooks that do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
