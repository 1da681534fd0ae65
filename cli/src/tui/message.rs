//! What happens, and what is to be done about it: the two ends of [`update`](super::update::update).

use std::path::PathBuf;

use ratatui::{crossterm::event::KeyEvent, layout::Size};
use zot_host::provider::ApiKey;
use zot_protocol::{
    CommandResponse, Object, PanelClose, PanelKey, PanelResize,
    rpc::{self, ExtensionInfo},
};

use super::{
    bridge::Said,
    state::{Choice, Command, ExtensionView, Item, Level, Stranger},
};

/// Something that has happened.
pub(crate) enum Message {
    Key(KeyEvent),
    Paste(String),
    Resized(Size),
    /// Time has passed.
    Tick,
    /// Of what the agent is at.
    Event(rpc::Event),
    /// The agent is through with it.
    Ended,
    /// By an extension, or by the host about one.
    Said(Said),
    /// A tool call is to be agreed to.
    Asked {
        number: u64,
        caller: Option<String>,
        tool: String,
        args: Object,
    },
    /// Extensions of the project that nobody has agreed to yet.
    Strangers(Vec<Stranger>, Then),
    /// The agent is there.
    Started(Box<Conversation>),
    /// Who offers what.
    Offered {
        commands: Vec<Command>,
        extensions: Vec<ExtensionInfo>,
    },
    /// An extension's command has been answered.
    Answered {
        extension: String,
        answer: Result<CommandResponse, String>,
    },
    /// What was done is done.
    Did(Did),
    /// How the extensions fare.
    Inspected(Vec<ExtensionView>),
    /// Whether a key was taken.
    Login(Result<String, String>),
}

/// What became of an effect that the agent was occupied with.
pub(crate) enum Did {
    /// There is something to say about it.
    Told(Level, String),
    /// Another model answers.
    Model(Model),
    /// Another conversation is at hand.
    Conversation(Box<Conversation>),
    /// There is something to choose from.
    Choices {
        title: &'static str,
        choices: Vec<Choice>,
        selected: usize,
    },
    /// There is something to read.
    Shown(Item),
}

/// Who answers.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) window: u64,
}

/// A conversation, as it is taken up.
pub(crate) struct Conversation {
    /// How that is said; empty: not at all.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
    pub(crate) model: Model,
    pub(crate) used: u64,
    pub(crate) jailed: bool,
}

/// What the user was asked about strangers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Start,
    Reload,
}

/// Something to be done outside of the screen.
#[derive(Debug)]
pub(crate) enum Effect {
    Prompt(String),
    Compact,
    /// End what the agent is at.
    Cancel,
    Command {
        name: String,
        args: String,
    },
    /// Nobody waits for the extension's command any more.
    CancelCommand,
    PanelKey(String, PanelKey),
    PanelResize(String, PanelResize),
    PanelClose(String, PanelClose),
    /// Whether the tool call with this number may be made.
    Answer(u64, bool),
    /// Whether tool calls are asked about.
    SetAsks(bool),
    /// Remembers what was answered about the project's extensions, and goes on.
    Trust(Vec<(Stranger, bool)>, Then),
    FindStrangers(Then),
    Clear,
    ListModels,
    SetModel {
        provider: Option<String>,
        id: String,
    },
    ListSessions,
    OpenSession(PathBuf),
    Fork(Option<u64>),
    Export(PathBuf),
    Import(PathBuf),
    ShowSkills,
    SetJail(bool),
    Inspect,
    Login {
        provider: String,
        key: ApiKey,
    },
    Logout(String),
    /// The terminal is the shell's for a while.
    Suspend,
    /// Everything is drawn anew.
    Redraw,
    Leave,
}
