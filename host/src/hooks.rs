//! The callbacks from a host into the program that embeds it.

use std::pin::Pin;

use zot_protocol::{ApprovalRule, NoteLevel, OpenPanel, PanelClose, PanelRender, ToolId, rpc};

use crate::approval::PendingCall;

/// The user's answer to a confirmation prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// Run the tool.
    Yes,
    /// Do not run it; the model receives a refusal.
    No,
    /// Nobody can be asked, so the tool does not run.
    Unavailable,
}

/// What the user needs to know to confirm a tool call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ApprovalRequest<'c> {
    /// The call, with the arguments after interception.
    pub call: PendingCall<'c>,
    /// The id of the call in events. Absent: the call has no events.
    pub tool_id: Option<&'c ToolId>,
    /// What the call would change, if the tool can tell. Absent: show the arguments.
    pub preview: Option<&'c Preview>,
    /// The rule that requires confirmation. Absent: every call needs confirmation.
    pub rule: Option<&'c ApprovalRule>,
}

/// What a call would change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preview {
    /// A unified diff from the current content of the file named by the argument `path`.
    Diff(String),
    /// Why the call would fail, or why there is no diff to show.
    Unavailable(String),
}

/// The program that embeds a host, such as a terminal UI, a driver over a pipe, or a test. Every
/// method has a default that does nothing. A method must not block, panic or call back into the
/// host. Methods are called in the order of the events that they report. Text arrives as the
/// extension sent it, so strip control sequences before writing it to a terminal.
#[expect(unused_variables, reason = "the defaults do nothing")]
pub trait Hooks: Send + Sync {
    /// An extension sent a note for the user, or the host has a note about an extension.
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

    /// An extension exited unexpectedly; remove its panels and notes. A note has already reported
    /// the reason.
    fn gone(&self, extension: &str) {}

    /// Asks whether to run a tool. Default: yes, unless one of the user's rules says to ask. The
    /// future is dropped if the call is cancelled.
    fn confirm<'h>(
        &'h self,
        request: ApprovalRequest<'h>,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        let answer = match request.rule {
            Some(_) => Confirmed::Unavailable,
            None => Confirmed::Yes,
        };
        Box::pin(std::future::ready(answer))
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
