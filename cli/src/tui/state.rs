//! The state that the screen is drawn from. [`update`](super::update::update) applies messages to
//! it.

mod delay;
mod inserted;
mod item;
mod notes;
mod panel;
mod picker;
mod popup;
mod question;
mod shell;
mod thought;
mod turn;

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use ratatui::layout::Size;
use zot_host::{
    approval::{Approvals, ConfirmMode},
    extension::stats::Stats,
    provider::Providers,
};
use zot_protocol::{Config, limits, rpc::ExtensionInfo};

use super::{
    builtin::Builtin,
    editor::{Editor, files::Files},
    message::AfterTrust,
    theme::Theme,
};

pub(crate) use delay::AnswerDelay;
pub(crate) use inserted::Inserted;
pub(crate) use item::{FinishedCall, Item, Level};
pub(crate) use notes::{Note, Notes};
pub(crate) use panel::{Panel, PanelInput};
pub(crate) use picker::{Choice, Picked, Picker, step_wrapping};
pub(crate) use popup::{Popup, PopupRow};
pub(crate) use question::{Answer, AskedCall, Body, Question, can_save};
pub(crate) use shell::{Outputs, SHELL, ShellRun};
pub(crate) use thought::{Place, Thought, Thoughts};
pub(crate) use turn::{Call, Retry, Steered, Turn};

/// How soon a second ctrl+c must follow the first one to exit.
const EXIT_WINDOW: Duration = Duration::from_secs(2);
/// Maximum number of folded results that can still be unfolded.
const MAX_FOLDED: usize = 20;

/// The state that the screen is drawn from.
pub(crate) struct State {
    /// The current time, set before an event is handled or a frame is drawn, so that the rest of the
    /// code does not read the clock.
    pub(crate) now: Instant,
    pub(crate) size: Size,
    pub(crate) theme: Theme,
    /// The model providers.
    pub(crate) providers: Providers,
    /// Whether to ring the bell when a long turn ends.
    pub(crate) rings: bool,
    /// Whether the terminal has focus, or `None` if it has not reported that.
    pub(crate) has_focus: Option<bool>,
    pub(crate) editor: Editor,
    pub(crate) popup: Popup,
    pub(crate) files: Option<Files>,
    pub(crate) root: PathBuf,
    /// Finished items that are not yet in the scrollback.
    pub(crate) output: Vec<Item>,
    /// Whether the last printed item was a notice. Consecutive notices have no blank line between
    /// them.
    pub(crate) last_was_notice: bool,
    /// Results that were shown folded, most recent last.
    pub(crate) folded: Vec<FinishedCall>,
    /// The model's reasoning.
    pub(crate) thoughts: Thoughts,
    /// Whether the agent has been started.
    pub(crate) ready: bool,
    pub(crate) turn: Option<Turn>,
    /// An activity that keeps the agent busy and is not a turn.
    pub(crate) activity: Option<Activity>,
    pub(crate) command: Option<Activity>,
    /// The running command that the user started with `!`.
    pub(crate) shell: Option<ShellRun>,
    /// Outputs of the user's commands, to send with the next message.
    pub(crate) outputs: Outputs,
    inserted: Option<Inserted>,
    /// Prompts and commands that are waiting for the agent to become idle.
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) submits: Submits,
    pub(crate) notes: Notes,
    /// The open panels, topmost last.
    pub(crate) panels: Vec<Panel>,
    /// Tool calls that are waiting for confirmation.
    pub(crate) questions: VecDeque<Question>,
    /// Decides which tool calls need confirmation.
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) status: Status,
    /// The mode to return to when `/yolo` turns confirmation off.
    pub(crate) mode_without_confirmation: ConfirmMode,
    /// The commands that extensions provide.
    pub(crate) commands: Vec<Command>,
    pub(crate) extensions: Vec<ExtensionInfo>,
    /// When ctrl+c was last pressed. A second press soon after exits.
    pub(crate) interrupted: Option<Instant>,
}

/// A running activity, shown with a spinner.
#[derive(Debug, Clone)]
pub(crate) struct Activity {
    pub(crate) label: String,
    pub(crate) since: Instant,
}

/// A prompt or command that is waiting for the agent to become idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Queued {
    /// A prompt from the user, or from a command that the user ran.
    Prompt(UserPrompt),
    /// A prompt from an extension.
    Submitted {
        extension: String,
        text: String,
    },
    Builtin(Builtin, String),
    /// A shell command that the user entered before the agent had started.
    Shell(String),
}

/// A prompt that was not submitted by an extension on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserPrompt {
    pub(crate) text: String,
    /// The images to attach. Paths that do not exist are left as text.
    pub(crate) images: Vec<PathBuf>,
    /// Whether the user wrote the prompt. If not, it comes from an extension's command.
    pub(crate) is_users: bool,
}

impl UserPrompt {
    /// Creates the prompt of an extension's command. It has no images.
    pub(crate) fn of_command(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
            is_users: false,
        }
    }
}

impl Queued {
    /// Returns the text to show in the queue.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Prompt(prompt) => prompt.text.clone(),
            Self::Submitted { extension, text } => format!("[{extension}] {text}"),
            Self::Shell(command) => format!("!{command}"),
            Self::Builtin(builtin, args) if args.is_empty() => format!("/{}", builtin.name()),
            Self::Builtin(builtin, args) => format!("/{} {args}", builtin.name()),
        }
    }
}

/// The prompts that extensions have submitted since the user's last prompt.
#[derive(Debug, Default)]
pub(crate) struct Submits {
    /// Number of submitted prompts that have been run.
    pub(crate) run: usize,
    /// Whether the running turn is a submitted prompt.
    pub(crate) running: bool,
    /// Extensions whose dropped prompts have been reported; each is reported once.
    pub(crate) reported: BTreeSet<String>,
}

/// An extension command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) extension: String,
}

/// The content of the status bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Number of tokens in the transcript.
    pub(crate) used: u64,
    /// Size of the model's context window, in tokens.
    pub(crate) window: u64,
    pub(crate) cost: f64,
    pub(crate) cwd: String,
    pub(crate) jailed: bool,
}

/// A dialog shown in place of the editor.
pub(crate) enum Dialog {
    /// Asks whether to trust project extensions, one at a time.
    Trust(TrustDialog),
    Picker(Picker),
    Login(Box<LoginDialog>),
    Extensions {
        selected: usize,
        views: Vec<ExtensionView>,
        /// When the statistics were last requested.
        requested: Instant,
    },
}

/// The dialog that asks for a provider's API key.
pub(crate) struct LoginDialog {
    pub(crate) provider: String,
    pub(crate) key: Editor,
    /// When the check of the key started, or `None` if no check is running.
    pub(crate) trying: Option<Instant>,
    pub(crate) error: Option<String>,
}

/// The dialog that asks whether to trust project extensions.
#[derive(Debug, Clone)]
pub(crate) struct TrustDialog {
    pub(crate) open: VecDeque<UntrustedExtension>,
    pub(crate) answers: Vec<(UntrustedExtension, bool)>,
    /// 0 is no, 1 is yes.
    pub(crate) selected: usize,
    /// What to do after the last answer.
    pub(crate) then: AfterTrust,
    /// The answer delay for the first open extension.
    pub(crate) delay: AnswerDelay,
}

impl TrustDialog {
    pub(crate) fn new(untrusted: Vec<UntrustedExtension>, then: AfterTrust) -> Self {
        Self {
            open: untrusted.into(),
            answers: Vec::new(),
            selected: 0,
            then,
            delay: AnswerDelay::default(),
        }
    }
}

impl Dialog {
    /// Creates a dialog that asks for a provider's API key.
    pub(crate) fn login(provider: String) -> Self {
        Self::Login(Box::new(LoginDialog {
            provider,
            key: Editor::secret(),
            trying: None,
            error: None,
        }))
    }
}

/// A project extension that the user has not trusted.
#[derive(Debug, Clone)]
pub(crate) struct UntrustedExtension {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) dir: PathBuf,
    /// The extension's command line.
    pub(crate) command: String,
    /// The extension's permissions, on one line.
    pub(crate) permissions: String,
    /// Why the user must decide about the extension.
    pub(crate) why: String,
    /// The directory and the digest under which the answer is stored.
    pub(crate) trust_key: (String, String),
}

/// An extension, as `/ext` shows it.
#[derive(Debug, Clone)]
pub(crate) struct ExtensionView {
    pub(crate) info: ExtensionInfo,
    pub(crate) stats: Stats,
    /// The last lines of the extension's log.
    pub(crate) log: Vec<String>,
}

/// The part of the screen that receives keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    Question,
    Dialog,
    Panel,
    Editor,
}

impl State {
    pub(crate) fn new(size: Size, theme: Theme, root: PathBuf, status: Status) -> Self {
        Self {
            now: Instant::now(),
            size,
            theme,
            providers: Providers::of(&Config::default()),
            rings: false,
            has_focus: None,
            editor: Editor::default(),
            popup: Popup::default(),
            files: None,
            root,
            output: Vec::new(),
            last_was_notice: false,
            folded: Vec::new(),
            thoughts: Thoughts::default(),
            ready: false,
            turn: None,
            activity: None,
            command: None,
            shell: None,
            outputs: Outputs::default(),
            inserted: None,
            queue: VecDeque::new(),
            submits: Submits::default(),
            notes: Notes::default(),
            panels: Vec::new(),
            questions: VecDeque::new(),
            approvals: Arc::default(),
            dialog: None,
            status,
            mode_without_confirmation: ConfirmMode::Never,
            commands: Vec::new(),
            extensions: Vec::new(),
            interrupted: None,
        }
    }

    pub(crate) fn focus(&self) -> Focus {
        if !self.questions.is_empty() {
            Focus::Question
        } else if self.dialog.is_some() {
            Focus::Dialog
        } else if !self.panels.is_empty() {
            Focus::Panel
        } else {
            Focus::Editor
        }
    }

    /// Reports whether a new prompt has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready || self.turn.is_some() || self.activity.is_some()
    }

    /// Shows a spinner for an activity that keeps the agent busy.
    pub(crate) fn begin(&mut self, label: &str) {
        self.activity = Some(Activity {
            label: label.to_owned(),
            since: self.now,
        });
    }

    /// Records what the next frame shows, to time the answer delays. Must be called before each
    /// frame.
    pub(crate) fn drawn(&mut self) {
        let (focus, now) = (self.focus(), self.now);
        if let Some(question) = self.questions.front_mut() {
            question.delay.drawn(focus == Focus::Question, now);
        }
        if let Some(Dialog::Trust(trust)) = &mut self.dialog {
            trust.delay.drawn(focus == Focus::Dialog, now);
        }
        if let Some(inserted) = &mut self.inserted {
            inserted.drawn(focus == Focus::Editor, now);
        }
    }

    /// Reports whether an open question does not accept answers yet.
    fn is_answer_delayed(&self) -> bool {
        let trust = match &self.dialog {
            Some(Dialog::Trust(trust)) => Some(&trust.delay),
            _ => None,
        };
        let question = self.questions.front().map(|question| &question.delay);
        let mut delays = trust.into_iter().chain(question);
        delays.any(|delay| !delay.is_over(self.now))
    }

    /// Records that the editor contains text that the user may not have written.
    pub(crate) fn mark_inserted(&mut self) {
        self.inserted = Some(Inserted::new(self.editor.text()));
    }

    /// Records that the user has changed the editor's text.
    pub(crate) fn mark_edited(&mut self) {
        if self.editor.is_empty() {
            return self.mark_replaced();
        }
        if let Some(inserted) = &mut self.inserted {
            inserted.edit(self.now);
        }
    }

    /// Records that the user has replaced the editor's text.
    pub(crate) fn mark_replaced(&mut self) {
        if let Some(inserted) = &mut self.inserted {
            inserted.replace();
        }
    }

    /// Reports whether the editor contains inserted text that the user has not edited.
    pub(crate) fn is_inserted(&self) -> bool {
        let mut inserted = self.inserted.iter();
        !self.editor.is_empty() && inserted.any(|it| it.is_in(&self.editor.text()))
    }

    /// Reports whether a sent text equals the inserted one, that is, the user did not edit it.
    pub(crate) fn was_inserted(&self, text: &str) -> bool {
        self.inserted.as_ref().is_some_and(|it| it.is(text))
    }

    /// Reports whether esc drops the outputs that wait for the next message. If not, there is
    /// something else that esc cancels first.
    pub(crate) fn can_drop_outputs(&self) -> bool {
        let is_idle = self.turn.is_none() && self.command.is_none() && self.shell.is_none();
        is_idle && self.queue.is_empty() && !self.outputs.is_empty()
    }

    /// Reports whether a dialog is open that needs the agent to stay idle.
    pub(crate) fn has_blocking_dialog(&self) -> bool {
        match &self.dialog {
            Some(Dialog::Picker(picker)) => picker.needs_idle_agent,
            Some(Dialog::Trust(_)) => true,
            _ => false,
        }
    }

    /// Reports whether the screen changes without input.
    pub(crate) fn is_animated(&self) -> bool {
        self.turn.is_some()
            || self.activity.is_some()
            || self.command.is_some()
            || self.shell.is_some()
            || self.is_exit_armed()
            || match &self.dialog {
                Some(Dialog::Extensions { .. }) => true,
                Some(Dialog::Login(login)) => login.trying.is_some(),
                _ => false,
            }
            || self.popup.is_searching
            || self.is_answer_delayed()
            || self.starting() > 0
    }

    /// Returns the number of extensions that are still starting.
    pub(crate) fn starting(&self) -> usize {
        use zot_protocol::rpc::ExtensionState;
        let starting = |it: &&ExtensionInfo| it.state == ExtensionState::Starting;
        self.extensions.iter().filter(starting).count()
    }

    /// Reports whether pressing ctrl+c now exits.
    pub(crate) fn is_exit_armed(&self) -> bool {
        self.interrupted
            .is_some_and(|at| self.now.duration_since(at) < EXIT_WINDOW)
    }

    /// Queues a prompt from the user, ahead of those from extensions.
    pub(crate) fn queue_prompt(&mut self, prompt: UserPrompt) {
        let is_submitted = |it: &Queued| matches!(it, Queued::Submitted { .. });
        let at = self.queue.iter().position(is_submitted);
        let at = at.unwrap_or(self.queue.len());
        self.queue.insert(at, Queued::Prompt(prompt));
    }

    /// Queues a prompt from an extension, unless too many are queued.
    pub(crate) fn queue_submitted(&mut self, extension: String, text: String) {
        let is_submitted = |it: &&Queued| matches!(it, Queued::Submitted { .. });
        if self.queue.iter().filter(is_submitted).count() >= limits::SUBMITS {
            return self.submit_dropped(&extension);
        }
        self.queue.push_back(Queued::Submitted { extension, text });
    }

    /// Reports that an extension's prompts were dropped, at most once until the user's next prompt.
    pub(crate) fn submit_dropped(&mut self, extension: &str) {
        if self.submits.reported.insert(extension.to_owned()) {
            let most = limits::SUBMITS;
            // Do not use a note for this, because the extension could push it off the screen with
            // its own notes.
            self.notify(
                Level::Warning,
                format!("{extension} submitted too many prompts; at most {most} can be queued, and at most {most} can run before your next prompt"),
            );
        }
    }

    /// Drops all queued prompts from extensions. If one was queued or running, runs no more of them
    /// until the user sends a prompt.
    pub(crate) fn stop_submits(&mut self) {
        let before = self.queue.len();
        self.queue
            .retain(|it| !matches!(it, Queued::Submitted { .. }));
        if self.queue.len() < before || self.submits.running {
            self.submits.run = limits::SUBMITS;
        }
    }

    pub(crate) fn notify(&mut self, level: Level, text: impl Into<String>) {
        self.output.push(Item::Notice {
            level,
            text: text.into(),
        });
    }

    /// Stores a folded result so that it can be unfolded later.
    pub(crate) fn fold(&mut self, call: FinishedCall) {
        if self.folded.len() == MAX_FOLDED {
            self.folded.remove(0);
        }
        self.folded.push(call);
    }
}
