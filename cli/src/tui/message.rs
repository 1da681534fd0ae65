//! The input and output of [`update`](super::update::update): messages and effects.

use std::path::PathBuf;

use ratatui::{crossterm::event::KeyEvent, layout::Size};
use zot_host::provider::{ApiKey, Model};
use zot_protocol::{
    CommandResponse, PanelClose, PanelKey, PanelResize,
    rpc::{self, ExtensionInfo},
};

use super::{
    bridge::HostMessage,
    state::{Choice, Command, ExtensionView, Item, Level, UntrustedExtension},
};

/// An event that changes the state.
pub(crate) enum Message {
    Key(KeyEvent),
    Paste(String),
    Resized(Size),
    /// The timer fired. Updates parts that change without input, such as the spinner.
    Tick,
    /// An event of the running prompt.
    Event(rpc::Event),
    /// The running prompt has ended.
    Ended,
    /// A message from an extension, or from the host about one.
    Host(HostMessage),
    /// Project extensions about which the user has not decided yet.
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
    /// Choices for a picker.
    Choices {
        title: &'static str,
        choices: Vec<Choice>,
        selected: usize,
    },
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

/// An action outside the screen state.
#[derive(Debug)]
pub(crate) enum Effect {
    Prompt(String),
    Compact,
    /// Cancels the running prompt.
    Cancel,
    Command {
        name: String,
        args: String,
    },
    /// Stops waiting for the running extension command.
    CancelCommand,
    PanelKey(String, PanelKey),
    PanelResize(String, PanelResize),
    PanelClose(String, PanelClose),
    /// Answers the confirmation with this number.
    Answer(u64, bool),
    /// Sets whether tool calls need confirmation.
    SetConfirm(bool),
    /// Stores the trust decisions, then performs the [`AfterTrust`] action.
    Trust(Vec<(UntrustedExtension, bool)>, AfterTrust),
    FindUntrusted(AfterTrust),
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
    /// Suspends the process (ctrl+z).
    Suspend,
    /// Redraws the whole screen.
    Redraw,
    Exit,
}
