//! The input and output of [`update`](super::update::update): messages and effects.

use std::path::PathBuf;

use ratatui::{crossterm::event::KeyEvent, layout::Size};
use zot_host::{
    Prompt, ToolOutcome,
    provider::{ApiKey, Model},
};
use zot_protocol::{
    ApprovalRule, CommandResponse, PanelClose, PanelKey, PanelResize,
    rpc::{self, ExtensionInfo},
};

use super::{
    bridge::HostMessage,
    state::{Command, ExtensionView, Item, Level, Picker, UntrustedExtension},
};

/// An event that changes the state.
pub(crate) enum Message {
    Key(KeyEvent),
    Paste(String),
    Resized(Size),
    /// The terminal has gained or lost focus.
    Focus(bool),
    /// The timer fired. Updates parts that change without input, such as the spinner.
    Tick,
    /// An event of the running prompt.
    Event(rpc::Event),
    /// The running prompt has ended.
    Ended,
    /// A message from an extension or from the host.
    Host(HostMessage),
    /// Project extensions that need a trust decision from the user.
    Untrusted(Vec<UntrustedExtension>, AfterTrust),
    Started(Box<Conversation>),
    /// The available commands and extensions have changed.
    RegistryChanged {
        commands: Vec<Command>,
        extensions: Vec<ExtensionInfo>,
    },
    /// An extension has responded to a command, or the command failed.
    CommandResponse {
        extension: String,
        answer: Result<CommandResponse, String>,
    },
    /// A notice for the user. Unlike [`EffectResult::Notice`], it does not end the current
    /// activity.
    Notice(Level, String),
    /// The agent has rejected the last message that was sent to the running prompt.
    SteeringRefused,
    /// The images of a prompt have been read, or one of them could not be read.
    ImagesRead(Result<Prompt, String>),
    /// The user's text editor has exited, with the new draft or an error.
    DraftEdited(Result<String, String>),
    /// A line of output from the user's command.
    ShellProgress(String),
    /// The user's command has ended.
    ShellEnded(ToolOutcome),
    /// An effect has completed.
    EffectDone(EffectResult),
    /// Statistics about the extensions, for `/ext`.
    Inspected(Vec<ExtensionView>),
    /// The result of checking and saving an API key.
    Login(Result<String, String>),
}

/// The result of an effect.
pub(crate) enum EffectResult {
    /// A notice for the user.
    Notice(Level, String),
    /// The model has changed.
    Model(Box<Model>),
    /// The conversation was replaced.
    Conversation(Box<Conversation>),
    /// The conversation was rewound to the point before the message with this text.
    Rewound {
        conversation: Box<Conversation>,
        text: String,
    },
    /// Choices, and the notice to show if there are none.
    Choices(Picker, &'static str),
    /// An item to print.
    Print(Item),
}

/// A conversation that replaces the current one.
pub(crate) struct Conversation {
    /// The text of the divider. If it is empty, there is no divider.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
    pub(crate) model: Model,
    pub(crate) used: u64,
    pub(crate) jailed: bool,
}

/// What to do after the user has answered the trust dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterTrust {
    Start,
    Reload,
}

/// An action that the main loop performs on the agent, the extensions or the terminal.
#[derive(Debug)]
pub(crate) enum Effect {
    Prompt(Prompt),
    /// Reads the images of a prompt, and then sends it.
    ReadImages {
        text: String,
        images: Vec<PathBuf>,
    },
    /// Sends a message to the running prompt.
    Steer(Prompt),
    Compact,
    /// Cancels the running prompt.
    Cancel,
    Command {
        name: String,
        args: String,
    },
    /// Runs a shell command for the user.
    Shell(String),
    /// Stops the user's shell command.
    CancelShell,
    /// Stops waiting for the running extension command.
    CancelCommand,
    PanelKey(String, PanelKey),
    PanelResize(String, PanelResize),
    PanelClose(String, PanelClose),
    /// Answers the confirmation with this number.
    Answer(u64, bool),
    /// Adds a rule to `approvals` in config.json.
    SaveApproval(Box<ApprovalRule>),
    /// Stores the trust decisions, then performs the [`AfterTrust`] action.
    Trust(Vec<(UntrustedExtension, bool)>, AfterTrust),
    FindUntrusted(AfterTrust),
    Clear,
    ListBackground,
    /// Stops a background command.
    KillBackground(String),
    ListModels,
    SetModel {
        provider: Option<String>,
        id: String,
    },
    ListSessions,
    OpenSession(PathBuf),
    Fork(Option<u64>),
    ListMessages,
    /// Continues with a copy of the session that ends before message `at`.
    Rewind {
        at: u64,
        text: String,
    },
    Export(PathBuf),
    Import(PathBuf),
    ShowSkills,
    /// Shows the decisions of the interceptors in this session.
    ShowDecisions,
    SetJail(bool),
    Inspect,
    Login {
        provider: String,
        key: ApiKey,
    },
    Logout(String),
    /// Opens the draft in the user's text editor.
    Edit(String),
    /// Suspends the process (ctrl+z).
    Suspend,
    /// Rings the terminal's bell.
    Ring,
    /// Redraws the whole screen.
    Redraw,
    Exit,
}
