//! What a handler can do besides answering.

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

/// What all handlers of an extension share.
pub(crate) struct Shared {
    pub(crate) wire: Arc<Wire>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) calls: Calls,
    pub(crate) host: OnceLock<HelloAck>,
}

impl Shared {
    /// What the host has said of itself; empty before it has.
    pub(crate) fn host(&self) -> &HelloAck {
        static SILENT: OnceLock<HelloAck> = OnceLock::new();
        let silent = || HelloAck::new(PROTOCOL_VERSION, "", "", "", "");
        self.host
            .get()
            .unwrap_or_else(|| SILENT.get_or_init(silent))
    }
}

/// What a handler can do besides answering. Cheap to clone, and may be kept: a thread of yours can hold one and speak at
/// any time. What is said after the connection has ended goes nowhere.
///
/// ```
/// use zot_sdk::{Extension, NoteLevel, Panel, Reply};
///
/// let extension = Extension::new("chatty", "1.0.0").command("go", "does it all", |_, ctx| {
///     ctx.clear_notes();
///     ctx.notify(NoteLevel::Warn, "this model is slow");
///     let mut panel = Panel::new("scores");
///     ctx.open_panel(panel.clone());
///     panel.lines.push("1 : 0".into());
///     ctx.render(&panel);
///     ctx.close_panel("scores");
///     ctx.submit("And now?");
///     Reply::display(format!("{} in {}", ctx.host().model, ctx.host().cwd))
/// });
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # assert_eq!(host.command("go", "").display.unwrap(), "model in /project");
/// # let said: Vec<_> = host.said().iter().map(|it| zot_sdk::Tagged::name(it).to_owned()).collect();
/// # assert_eq!(said[3..], ["clear_notes", "notify", "open_panel", "panel_render", "panel_close", "submit", "command_response"]);
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
    /// The tool call in whose handling this is.
    pub(crate) parent: Option<Id>,
}

impl Context {
    /// Who the host is: its version, provider and model, where the user works, what it can do.
    pub fn host(&self) -> &HelloAck {
        self.shared.host()
    }

    /// A directory for this extension's own files. It exists, is writable whatever the manifest's `permissions` say, and
    /// survives updates. `None`: an older host, which has none.
    pub fn data_dir(&self) -> Option<&Path> {
        self.host().data_dir.as_deref().map(Path::new)
    }

    /// Shows the user one line under the chat, until the next prompt.
    pub fn notify(&self, level: NoteLevel, message: impl Into<String>) {
        self.say(Notify::new(level, message));
    }

    /// Takes this extension's notes back.
    pub fn clear_notes(&self) {
        self.say(ClearNotes::default());
    }

    /// Opens a panel. Its keys go to the handler that [`Extension::panel`](crate::Extension::panel) gave its id.
    pub fn open_panel(&self, panel: Panel) {
        self.say(OpenPanel::new(panel));
    }

    /// Draws an open panel anew, as it is in `panel`. Where it is not open, nothing happens.
    pub fn render(&self, panel: &Panel) {
        let mut render = PanelRender::new(panel.id.clone());
        render.title.clone_from(&panel.title);
        render.lines = Some(panel.lines.clone());
        render.footer.clone_from(&panel.footer);
        self.say(render);
    }

    /// Closes a panel, if it is open.
    pub fn close_panel(&self, id: impl Into<PanelId>) {
        self.say(PanelClose::new(id));
    }

    /// Queues a prompt, as if the user had sent it. Only a host with a user does so.
    pub fn submit(&self, text: impl Into<String>) {
        self.say(Submit::new(text));
    }

    /// Runs another tool, the host's own or another extension's, through interception and confirmation as if the model
    /// had called it. [Wait](CallTool::wait) for the answer, or await it.
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

    /// A frame that nobody answers: when it cannot be sent, the log is told.
    fn say(&self, frame: impl Into<FromExtension>) {
        let frame = frame.into();
        if let Err(unsent) = self.shared.wire.send(frame) {
            eprintln!("not sent: {unsent}");
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Context").finish_non_exhaustive()
    }
}

/// What the handler of a tool can do: all that a [`Context`] can, tell of its progress, and learn that it is not needed
/// any more.
///
/// ```
/// use std::time::Duration;
/// use zot_sdk::{Extension, NoArgs, ToolOutput};
///
/// let extension = Extension::new("patient", "1.0.0").tool("wait", "waits for ever", |_: NoArgs, ctx| {
///     while !ctx.wait_cancelled(Duration::from_millis(10)) {
///         ctx.progress("still waiting");
///     }
///     assert!(ctx.is_cancelled());
///     ToolOutput::error("given up")
/// });
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # let id = host.begin_tool("wait", "{}");
/// # host.cancel(&id);
/// # assert_eq!(host.result(&id).text(), "given up");
/// ```
///
/// Progress is a tool's; a command has none to tell of:
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
    /// Shows the user a line, and gives the tool its time anew: 60 s from here, 10 minutes in all.
    pub fn progress(&self, text: impl Into<String>) {
        self.context.say(ToolProgress::new(self.id.clone(), text));
    }

    /// Whether the answer is of no use any more, for a handler that looks now and then: the user gave up, the time is over, or the extension is about to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get().is_some()
    }

    /// Waits until it is cancelled, but no longer than this; says whether it is. A sleep that ends early.
    pub fn wait_cancelled(&self, at_most: Duration) -> bool {
        self.cancelled.wait_for(at_most).is_some()
    }

    /// Ends when the call is cancelled, for a handler that is async.
    ///
    /// ```
    /// use zot_sdk::{Extension, NoArgs, ToolOutput};
    ///
    /// let extension = Extension::new("patient", "1.0.0").tool("wait", "waits", async |_: NoArgs, ctx| {
    ///     ctx.cancelled().await;
    ///     ToolOutput::error("given up")
    /// });
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # let id = host.begin_tool("wait", "{}");
    /// # host.cancel(&id);
    /// # assert_eq!(host.result(&id).text(), "given up");
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

/// A future that ends when its tool call is cancelled.
#[derive(Debug)]
pub struct Cancelled(Once<()>);

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}
