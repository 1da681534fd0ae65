//! The context of a handler: everything it can do besides answering.

use std::{
    future::Future,
    ops::Deref,
    path::Path,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{self, Poll},
    time::Duration,
};

use zot_protocol::{
    ClearNotes, FromExtension, HelloAck, Id, NoteLevel, Notify, Object, OpenPanel,
    PROTOCOL_VERSION, Panel, PanelClose, PanelId, PanelRender, Submit, ToolProgress,
};

use crate::{
    call::{CallTool, Calls},
    once::Once,
    request::Requests,
    wire::Wire,
};

/// State shared by all handlers of an extension.
pub(crate) struct Shared {
    pub(crate) wire: Arc<Wire>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) calls: Calls,
    pub(crate) host: OnceLock<HelloAck>,
}

impl Shared {
    /// Returns the host's `hello_ack`, or an empty one if it has not arrived.
    pub(crate) fn host(&self) -> &HelloAck {
        static EMPTY: OnceLock<HelloAck> = OnceLock::new();
        let empty = || HelloAck::new(PROTOCOL_VERSION, "", "", "", "");
        self.host.get().unwrap_or_else(|| EMPTY.get_or_init(empty))
    }
}

/// The context of a handler: everything it can do besides answering. It is cheap to clone and can
/// be stored, so your own threads can hold a clone and send frames at any time. Frames sent after
/// the connection has ended are dropped.
///
/// ```
/// use zot_sdk::{Extension, NoteLevel, Panel, Reply};
///
/// let extension = Extension::new("chatty", "1.0.0").command("go", "tries every method", |_, ctx| {
///     ctx.clear_notes();
///     ctx.notify(NoteLevel::Warn, "this model is slow");
///     let mut panel = Panel::new("scores");
///     ctx.open_panel(panel.clone());
///     panel.lines.push("1 : 0".into());
///     ctx.render(&panel);
///     ctx.close_panel("scores");
///     ctx.submit("Continue.");
///     Reply::display(format!("{} in {}", ctx.host().model, ctx.host().cwd))
/// });
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # assert_eq!(host.command("go", "").display.unwrap(), "model in /project");
/// # let sent: Vec<_> = host.frames().iter().map(|it| zot_sdk::Tagged::name(it).to_owned()).collect();
/// # assert_eq!(sent[3..], ["clear_notes", "notify", "open_panel", "panel_render", "panel_close", "submit", "command_response"]);
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
    /// The tool call being handled, if any.
    pub(crate) parent: Option<Id>,
}

impl Context {
    /// Returns the host's `hello_ack`: its version, provider, model, working directory and
    /// capabilities.
    pub fn host(&self) -> &HelloAck {
        self.shared.host()
    }

    /// Returns the directory for this extension's own files. It exists, is writable regardless of
    /// the manifest's `permissions`, and survives updates. `None` on older hosts, which do not
    /// provide one.
    pub fn data_dir(&self) -> Option<&Path> {
        self.host().data_dir.as_deref().map(Path::new)
    }

    /// Shows a line to the user below the chat, until the next prompt.
    pub fn notify(&self, level: NoteLevel, message: impl Into<String>) {
        self.send(Notify::new(level, message));
    }

    /// Removes this extension's notes.
    pub fn clear_notes(&self) {
        self.send(ClearNotes::default());
    }

    /// Opens a panel. Key presses go to the handler registered with
    /// [`Extension::panel`](crate::Extension::panel) for the panel's id.
    pub fn open_panel(&self, panel: Panel) {
        self.send(OpenPanel::new(panel));
    }

    /// Redraws an open panel with the contents of `panel`. Does nothing if it is not open.
    pub fn render(&self, panel: &Panel) {
        let mut render = PanelRender::new(panel.id.clone());
        render.title.clone_from(&panel.title);
        render.lines = Some(panel.lines.clone());
        render.footer.clone_from(&panel.footer);
        self.send(render);
    }

    /// Closes a panel, if it is open.
    pub fn close_panel(&self, id: impl Into<PanelId>) {
        self.send(PanelClose::new(id));
    }

    /// Queues a prompt as if the user had sent it. Only interactive hosts support this.
    pub fn submit(&self, text: impl Into<String>) {
        self.send(Submit::new(text));
    }

    /// Runs a tool of the host or of another extension. Interception and confirmation apply as if
    /// the model had called it. [Wait](CallTool::wait) for the answer, or await it.
    ///
    /// ```
    /// use zot_sdk::{Extension, NoArgs, Object};
    ///
    /// let extension = Extension::new("caller", "1.0.0")
    ///     .tool("sync", "calls another tool", |_: NoArgs, ctx| ctx.call_tool("read", Object::new()).wait())
    ///     .tool("async", "calls another tool", async |_: NoArgs, ctx| ctx.call_tool("read", Object::new()).await);
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # host.answer_calls(|call| zot_sdk::ToolOutput::text(format!("{} was called", call.name)));
    /// # assert_eq!(host.tool("sync", "{}").text(), "read was called");
    /// # assert_eq!(host.tool("async", "{}").text(), "read was called");
    /// ```
    pub fn call_tool(&self, name: impl Into<String>, args: Object) -> CallTool {
        CallTool::start(self, name.into(), args)
    }

    /// Sends a frame that has no answer. Logs an error if it cannot be sent.
    fn send(&self, frame: impl Into<FromExtension>) {
        let frame = frame.into();
        if let Err(unsent) = self.shared.wire.send(frame) {
            eprintln!("failed to send a frame: {unsent}");
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Context").finish_non_exhaustive()
    }
}

/// The context of a tool handler. Adds progress reports and cancellation to [`Context`].
///
/// ```
/// use std::time::Duration;
/// use zot_sdk::{Extension, NoArgs, ToolOutput};
///
/// let extension = Extension::new("patient", "1.0.0").tool("wait", "waits until cancelled", |_: NoArgs, ctx| {
///     while !ctx.wait_cancelled(Duration::from_millis(10)) {
///         ctx.progress("still waiting");
///     }
///     assert!(ctx.is_cancelled());
///     ToolOutput::error("cancelled")
/// });
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # let id = host.begin_tool("wait", "{}");
/// # host.cancel(&id);
/// # assert_eq!(host.result(&id).text(), "cancelled");
/// ```
///
/// Only tools can report progress, not commands:
///
/// ```compile_fail,E0599
/// # use zot_sdk::Extension;
/// Extension::new("x", "1").command("go", "", |_, ctx| ctx.progress("half way"));
/// ```
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub(crate) context: Context,
    pub(crate) id: Id,
    pub(crate) cancelled: Once<()>,
}

impl ToolContext {
    /// Shows a line to the user and restarts the tool's timeout: 60 s from now, but at most 10
    /// minutes in total.
    pub fn progress(&self, text: impl Into<String>) {
        self.context.send(ToolProgress::new(self.id.clone(), text));
    }

    /// Reports whether the call was cancelled: the user aborted, the call timed out, or the
    /// extension is shutting down. Use it in handlers that poll.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get().is_some()
    }

    /// Waits until the call is cancelled or `at_most` has passed. Returns whether it was cancelled.
    pub fn wait_cancelled(&self, at_most: Duration) -> bool {
        self.cancelled.wait_for(at_most).is_some()
    }

    /// Returns a future that completes when the call is cancelled, for async handlers.
    ///
    /// ```
    /// use zot_sdk::{Extension, NoArgs, ToolOutput};
    ///
    /// let extension = Extension::new("patient", "1.0.0").tool("wait", "waits", async |_: NoArgs, ctx| {
    ///     ctx.cancelled().await;
    ///     ToolOutput::error("cancelled")
    /// });
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # let id = host.begin_tool("wait", "{}");
    /// # host.cancel(&id);
    /// # assert_eq!(host.result(&id).text(), "cancelled");
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(self.cancelled.clone())
    }
}

impl Deref for ToolContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// A future that completes when its tool call is cancelled.
#[derive(Debug)]
pub struct Cancelled(Once<()>);

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}
