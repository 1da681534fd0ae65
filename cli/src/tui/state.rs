//! All that the screen is a function of. [`update`](super::update::update) alone changes it.

mod item;
mod notes;
mod panel;
mod picker;
mod popup;
mod turn;

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    time::{Duration, Instant},
};

use ratatui::layout::Size;
use zot_protocol::{Object, limits, rpc::ExtensionInfo};

use super::{
    builtin::Builtin,
    editor::{Editor, files::Files},
    message::Then,
    theme::Theme,
};

pub(crate) use item::{Item, Level, Ran};
pub(crate) use notes::{Note, Notes};
pub(crate) use panel::{Panel, PanelInput};
pub(crate) use picker::{Choice, Picked, Picker, around};
pub(crate) use popup::{Popup, Row as PopupRow};
pub(crate) use turn::{Call, Turn};

/// How long a first ctrl+c counts.
const LEAVING: Duration = Duration::from_secs(2);
/// Who is typing when a question comes up has not read it: so long it takes no answer but Esc, and offers none.
const DEAF: Duration = Duration::from_millis(700);
/// So many results can be unfolded afterwards.
const FOLDED: usize = 20;

/// All that the screen is a function of.
pub(crate) struct State {
    /// The time, as of the last message.
    pub(crate) now: Instant,
    pub(crate) size: Size,
    pub(crate) theme: Theme,
    pub(crate) editor: Editor,
    pub(crate) popup: Popup,
    pub(crate) files: Option<Files>,
    /// Where the user works.
    pub(crate) root: PathBuf,
    /// What is finished and not yet the terminal's.
    pub(crate) output: Vec<Item>,
    /// Whether the last thing that became the terminal's was a line of the program's own.
    pub(crate) told_last: bool,
    /// Results that were shown in part, the last one last.
    pub(crate) folded: Vec<Ran>,
    /// Whether the agent has been started.
    pub(crate) ready: bool,
    /// What the model is at.
    pub(crate) turn: Option<Turn>,
    /// What else keeps the agent from a prompt.
    pub(crate) doing: Option<Doing>,
    /// An extension's command that runs.
    pub(crate) command: Option<Doing>,
    /// What waits for the agent.
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) submits: Submits,
    pub(crate) notes: Notes,
    /// The last one is on top.
    pub(crate) panels: Vec<Panel>,
    /// Tool calls to be agreed to.
    pub(crate) questions: VecDeque<Question>,
    /// What is not asked about any more.
    pub(crate) agreed: Vec<Agreed>,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) status: Status,
    /// The extensions' commands.
    pub(crate) commands: Vec<Command>,
    pub(crate) extensions: Vec<ExtensionInfo>,
    /// When ctrl+c was pressed, which leaves when it is pressed again.
    pub(crate) interrupted: Option<Instant>,
}

/// Something that takes its time.
#[derive(Debug, Clone)]
pub(crate) struct Doing {
    pub(crate) what: String,
    pub(crate) since: Instant,
}

/// What waits until the agent has nothing else to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Queued {
    /// The user's.
    Prompt(String),
    /// An extension's.
    Submitted {
        extension: String,
        text: String,
    },
    Builtin(Builtin, String),
}

impl Queued {
    /// As it was typed.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Prompt(text) => text.clone(),
            Self::Submitted { extension, text } => format!("[{extension}] {text}"),
            Self::Builtin(builtin, args) if args.is_empty() => format!("/{}", builtin.name()),
            Self::Builtin(builtin, args) => format!("/{} {args}", builtin.name()),
        }
    }
}

/// What extensions have submitted since the user's last prompt.
#[derive(Debug, Default)]
pub(crate) struct Submits {
    /// How many of their prompts have run.
    pub(crate) run: usize,
    /// Whether the turn is one of them.
    pub(crate) running: bool,
    /// Whose prompts were dropped, which is said once of each.
    pub(crate) noted: BTreeSet<String>,
}

/// A command of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) extension: String,
}

/// What the bar at the bottom says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Tokens that the transcript has, and that the model can take in.
    pub(crate) used: u64,
    pub(crate) window: u64,
    pub(crate) cost: f64,
    pub(crate) cwd: String,
    pub(crate) jailed: bool,
    /// Whether tool calls are asked about.
    pub(crate) asks: bool,
}

/// A tool, and who calls it. Agreeing to the model's calls agrees to no extension's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The extension that calls it; `None`: the model.
    pub(crate) caller: Option<String>,
    pub(crate) tool: String,
}

/// Whether a tool may be run.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) number: u64,
    pub(crate) what: Agreed,
    pub(crate) args: Object,
    pub(crate) selected: usize,
    /// When it may be answered.
    pub(crate) from: Instant,
}

/// What is asked, or looked at, in the place of the editor.
pub(crate) enum Dialog {
    /// Whether extensions of the project may be started, one after the other.
    Trust(Trust),
    Picker(Picker),
    Login(Box<Login>),
    Extensions {
        selected: usize,
        views: Vec<ExtensionView>,
        /// When they were last looked at.
        looked: Instant,
    },
}

/// A provider's key, to be kept.
pub(crate) struct Login {
    pub(crate) provider: String,
    pub(crate) key: Editor,
    /// Since when it is being tried.
    pub(crate) trying: Option<Instant>,
    pub(crate) error: Option<String>,
}

/// Extensions that came with the project, to be agreed to.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub(crate) open: VecDeque<Stranger>,
    pub(crate) answers: Vec<(Stranger, bool)>,
    /// 0 is no, 1 is yes.
    pub(crate) selected: usize,
    /// What for.
    pub(crate) then: Then,
    /// When it may be answered.
    pub(crate) from: Instant,
}

impl Trust {
    pub(crate) fn new(strangers: Vec<Stranger>, then: Then, now: Instant) -> Self {
        Self {
            open: strangers.into(),
            answers: Vec::new(),
            selected: 0,
            then,
            from: now + DEAF,
        }
    }
}

impl Dialog {
    /// Asks for a provider's key.
    pub(crate) fn login(provider: String) -> Self {
        Self::Login(Box::new(Login {
            provider,
            key: Editor::secret(),
            trying: None,
            error: None,
        }))
    }
}

/// An extension that nobody has agreed to.
#[derive(Debug, Clone)]
pub(crate) struct Stranger {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) dir: PathBuf,
    /// How it is started.
    pub(crate) starts: String,
    /// What it may touch, in a line.
    pub(crate) may: String,
    /// Why it is asked about.
    pub(crate) why: String,
    /// Under which the answer is remembered: the directory, and its digest.
    pub(crate) seen: (String, String),
}

/// An extension as `/ext` shows it.
#[derive(Debug, Clone)]
pub(crate) struct ExtensionView {
    pub(crate) info: ExtensionInfo,
    pub(crate) asked: u64,
    pub(crate) blocked: u64,
    pub(crate) rewritten: u64,
    pub(crate) failed: u64,
    pub(crate) median: Option<Duration>,
    pub(crate) worst: Duration,
    /// The end of its log.
    pub(crate) log: Vec<String>,
}

/// Who gets the keys.
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
            editor: Editor::default(),
            popup: Popup::default(),
            files: None,
            root,
            output: Vec::new(),
            told_last: false,
            folded: Vec::new(),
            ready: false,
            turn: None,
            doing: None,
            command: None,
            queue: VecDeque::new(),
            submits: Submits::default(),
            notes: Notes::default(),
            panels: Vec::new(),
            questions: VecDeque::new(),
            agreed: Vec::new(),
            dialog: None,
            status,
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

    /// Whether a prompt has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready || self.turn.is_some() || self.doing.is_some()
    }

    /// When a question that comes up now may be answered.
    pub(crate) fn answerable(&self) -> Instant {
        if self.editor.is_empty() {
            self.now
        } else {
            self.now + DEAF
        }
    }

    /// Whether a question is there that may not be answered yet.
    fn is_deaf(&self) -> bool {
        let trust = match &self.dialog {
            Some(Dialog::Trust(trust)) => Some(trust.from),
            _ => None,
        };
        let question = self.questions.front().map(|question| question.from);
        trust
            .into_iter()
            .chain(question)
            .any(|from| self.now < from)
    }

    /// Whether the user decides something that the agent is to be idle for.
    pub(crate) fn is_choosing(&self) -> bool {
        matches!(self.dialog, Some(Dialog::Picker(_) | Dialog::Trust(_)))
    }

    /// Whether something on the screen changes by itself.
    pub(crate) fn is_moving(&self) -> bool {
        self.turn.is_some()
            || self.doing.is_some()
            || self.command.is_some()
            || self.is_leaving()
            || match &self.dialog {
                Some(Dialog::Extensions { .. }) => true,
                Some(Dialog::Login(login)) => login.trying.is_some(),
                _ => false,
            }
            || self.popup.is_looking
            || self.is_deaf()
            || self.starting() > 0
    }

    /// How many extensions are still to become ready.
    pub(crate) fn starting(&self) -> usize {
        use zot_protocol::rpc::ExtensionState;
        let starting = |it: &&ExtensionInfo| it.state == ExtensionState::Starting;
        self.extensions.iter().filter(starting).count()
    }

    /// Whether ctrl+c would leave.
    pub(crate) fn is_leaving(&self) -> bool {
        self.interrupted
            .is_some_and(|at| self.now.duration_since(at) < LEAVING)
    }

    /// Queues a prompt of the user's, before those of extensions.
    pub(crate) fn queue_prompt(&mut self, text: String) {
        let is_submitted = |it: &Queued| matches!(it, Queued::Submitted { .. });
        let at = self.queue.iter().position(is_submitted);
        let at = at.unwrap_or(self.queue.len());
        self.queue.insert(at, Queued::Prompt(text));
    }

    /// Queues a prompt of an extension, if not too many wait.
    pub(crate) fn queue_submitted(&mut self, extension: String, text: String) {
        let is_submitted = |it: &&Queued| matches!(it, Queued::Submitted { .. });
        if self.queue.iter().filter(is_submitted).count() >= limits::SUBMITS {
            return self.submit_dropped(&extension);
        }
        self.queue.push_back(Queued::Submitted { extension, text });
    }

    /// Reports once per prompt of the user that prompts of an extension are dropped.
    pub(crate) fn submit_dropped(&mut self, extension: &str) {
        if self.submits.noted.insert(extension.to_owned()) {
            let most = limits::SUBMITS;
            // Not as a note, which the extension could push off the screen with others of its own.
            self.tell(
                Level::Warning,
                format!("{extension} submits too many prompts: at most {most} wait, and at most {most} run until you send one"),
            );
        }
    }

    /// Drops what extensions have submitted. If there was anything, nothing else of it runs until the user sends a prompt.
    pub(crate) fn stop_submits(&mut self) {
        let before = self.queue.len();
        self.queue
            .retain(|it| !matches!(it, Queued::Submitted { .. }));
        if self.queue.len() < before || self.submits.running {
            self.submits.run = limits::SUBMITS;
        }
    }

    pub(crate) fn tell(&mut self, level: Level, text: impl Into<String>) {
        self.output.push(Item::Told {
            level,
            text: text.into(),
        });
    }

    /// Remembers a result that was shown in part.
    pub(crate) fn fold(&mut self, ran: Ran) {
        if self.folded.len() == FOLDED {
            self.folded.remove(0);
        }
        self.folded.push(ran);
    }
}
