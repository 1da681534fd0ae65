//! Replies to slash commands.

use std::fmt::Display;

use zot_protocol::{Action, CommandResponse, Id, Panel};

/// The reply to a slash command: exactly one action.
///
/// A handler can also return `()`, which becomes [`Reply::noop`], or a `Result`, whose error
/// becomes [`Reply::error`].
///
/// ```
/// use zot_sdk::{Extension, Panel, Reply};
///
/// let extension = Extension::new("notes", "1.0.0")
///     .command("ask", "asks the model", |about, _| Reply::prompt(format!("What is {about}?")))
///     .command("draft", "puts text into the editor", |_, _| Reply::insert("Dear "))
///     .command("count", "counts words", |text, _| Reply::display(text.split_whitespace().count().to_string()))
///     .command("forget", "works without output", |_, _| Reply::noop())
///     .command("list", "opens the list", |_, _| Reply::open_panel(Panel::new("list")))
///     .command("fail", "reports an error", |_, _| Reply::error("no notes"));
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # assert_eq!(host.command("ask", "zot").prompt.unwrap(), "What is zot?");
/// # assert_eq!(host.command("draft", "").insert.unwrap(), "Dear ");
/// # assert_eq!(host.command("count", "a b").display.unwrap(), "2");
/// # assert!(host.command("forget", "").error.is_none());
/// # assert_eq!(host.command("list", "").open_panel.unwrap().id.as_str(), "list");
/// # assert_eq!(host.command("fail", "").error.unwrap(), "no notes");
/// ```
///
/// A reply has only one action:
///
/// ```compile_fail,E0599
/// # use zot_sdk::Reply;
/// Reply::prompt("do it").insert("and this");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The response, without its id.
    response: CommandResponse,
}

impl Reply {
    fn new(action: Action) -> Self {
        let mut response = CommandResponse::new("");
        response.action = Some(action);
        Self { response }
    }

    /// Submits text as the user's next message, which the model answers.
    pub fn prompt(text: impl Into<String>) -> Self {
        let mut reply = Self::new(Action::Prompt);
        reply.response.prompt = Some(text.into());
        reply
    }

    /// Inserts text into the editor at the cursor.
    pub fn insert(text: impl Into<String>) -> Self {
        let mut reply = Self::new(Action::Insert);
        reply.response.insert = Some(text.into());
        reply
    }

    /// Shows text once in the chat, but not in the transcript. The model does not see it.
    pub fn display(text: impl Into<String>) -> Self {
        let mut reply = Self::new(Action::Display);
        reply.response.display = Some(text.into());
        reply
    }

    /// Does nothing.
    pub fn noop() -> Self {
        Self::new(Action::Noop)
    }

    /// Opens a panel. Key presses go to the handler registered with
    /// [`Extension::panel`](crate::Extension::panel) for the panel's id.
    pub fn open_panel(panel: Panel) -> Self {
        let mut reply = Self::new(Action::OpenPanel);
        reply.response.open_panel = Some(panel);
        reply
    }

    /// Shows an error to the user.
    pub fn error(why: impl Display) -> Self {
        let why = why.to_string();
        let mut reply = Self::noop();
        // A host ignores an empty error.
        reply.response.error = Some(if why.is_empty() { "failed".into() } else { why });
        reply
    }

    pub(crate) fn frame(mut self, id: Id) -> CommandResponse {
        self.response.id = id;
        self.response
    }
}

impl From<()> for Reply {
    fn from((): ()) -> Self {
        Self::noop()
    }
}

impl<T: Into<Reply>, E: Display> From<Result<T, E>> for Reply {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(Self::error, Into::into)
    }
}
