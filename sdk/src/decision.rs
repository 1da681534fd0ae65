//! What an interceptor decides.

use std::{fmt::Display, marker::PhantomData};

use zot_protocol::{
    AssistantMessageIntercept, BeforeAgentStart, Content, EventInterceptResponse, Id, Object,
    ToolCallIntercept, ToolResultIntercept, TurnStartIntercept, UserMessageIntercept,
};

/// What an interceptor decides about an event: let it pass, refuse it, or change it.
///
/// The type follows from the event that is asked about, and has only what that event allows. A handler may also return a
/// `Result`: an error refuses, as a panic does.
///
/// ```
/// use zot_sdk::{Decision, Extension};
///
/// let extension = Extension::new("careful", "1.0.0").intercept_tool_call(|mut call, _| {
///     match call.tool_name.as_str() {
///         "write" => Decision::block("nothing is written today"),
///         "bash" => {
///             call.tool_args.insert("timeout".into(), 10.into());
///             Decision::rewrite(call.tool_args)
///         }
///         _ => Decision::allow(),
///     }
/// });
/// # use zot_sdk::{ToolCallIntercept, testing::TestHost};
/// # let host = TestHost::start(extension);
/// # let ask = |tool: &str| host.intercept(ToolCallIntercept::new(tool, Default::default()));
/// # assert!(ask("write").block);
/// # assert_eq!(ask("bash").modified_args.unwrap()["timeout"], 10);
/// # assert!(!ask("read").block);
/// ```
///
/// A turn can be refused, but there is nothing in it to rewrite:
///
/// ```compile_fail,E0599
/// # use zot_sdk::{Decision, Extension, TurnStartIntercept};
/// Decision::<TurnStartIntercept>::rewrite("another step");
/// ```
///
/// A session's prompt can be rewritten, but the session cannot be refused:
///
/// ```compile_fail,E0599
/// # use zot_sdk::{BeforeAgentStart, Decision};
/// Decision::<BeforeAgentStart>::block("no");
/// ```
///
/// The arguments of a tool are an object, whatever they are rewritten to:
///
/// ```compile_fail,E0277
/// # use zot_sdk::{Decision, Extension};
/// Extension::new("x", "1").intercept_tool_call(|_, _| Decision::rewrite("ls"));
/// ```
///
/// And an interceptor that decides nothing does not compile:
///
/// ```compile_fail,E0277
/// # use zot_sdk::Extension;
/// Extension::new("x", "1").intercept_tool_call(|_, _| ());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<Event> {
    kind: Kind,
    event: PhantomData<fn(Event)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Allow,
    Block(String),
    Rewrite(Change),
}

/// What stands in the place of what was asked about, in the field that its event has for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Of a tool call.
    Args(Object),
    /// Of a message.
    Text(String),
    /// Of a tool's result.
    Content(Vec<Content>),
    /// Of a session.
    SystemPrompt(String),
}

mod sealed {
    pub trait Sealed {}
}

/// An event that can be refused: all but [`BeforeAgentStart`].
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be refused")]
pub trait Blocks: sealed::Sealed {}

/// An event that can be rewritten: all but [`TurnStartIntercept`].
#[diagnostic::on_unimplemented(message = "there is nothing to rewrite in `{Self}`")]
pub trait Rewrites: sealed::Sealed {
    /// What it is rewritten to.
    type To;

    #[doc(hidden)]
    fn change(to: Self::To) -> Change;
}

impl sealed::Sealed for ToolCallIntercept {}
impl sealed::Sealed for TurnStartIntercept {}
impl sealed::Sealed for AssistantMessageIntercept {}
impl sealed::Sealed for UserMessageIntercept {}
impl sealed::Sealed for ToolResultIntercept {}
impl sealed::Sealed for BeforeAgentStart {}

impl Blocks for ToolCallIntercept {}
impl Blocks for TurnStartIntercept {}
impl Blocks for AssistantMessageIntercept {}
impl Blocks for UserMessageIntercept {}
impl Blocks for ToolResultIntercept {}

impl Rewrites for ToolCallIntercept {
    type To = Object;

    fn change(to: Object) -> Change {
        Change::Args(to)
    }
}

impl Rewrites for AssistantMessageIntercept {
    type To = String;

    fn change(to: String) -> Change {
        Change::Text(to)
    }
}

impl Rewrites for UserMessageIntercept {
    type To = String;

    fn change(to: String) -> Change {
        Change::Text(to)
    }
}

impl Rewrites for ToolResultIntercept {
    type To = Vec<Content>;

    fn change(to: Vec<Content>) -> Change {
        Change::Content(to)
    }
}

impl Rewrites for BeforeAgentStart {
    type To = String;

    fn change(to: String) -> Change {
        Change::SystemPrompt(to)
    }
}

impl<Event> Decision<Event> {
    /// Lets it pass as it is.
    pub fn allow() -> Self {
        Self::of(Kind::Allow)
    }

    fn of(kind: Kind) -> Self {
        let event = PhantomData;
        Self { kind, event }
    }

    pub(crate) fn frame(self, id: Id) -> EventInterceptResponse {
        let mut frame = EventInterceptResponse::new(id);
        match self.kind {
            Kind::Allow => {}
            Kind::Block(reason) => {
                frame.block = true;
                frame.reason = Some(reason);
            }
            Kind::Rewrite(Change::Args(args)) => frame.modified_args = Some(args),
            Kind::Rewrite(Change::Text(text)) => frame.replace_text = Some(text),
            Kind::Rewrite(Change::Content(content)) => frame.replace_content = Some(content),
            Kind::Rewrite(Change::SystemPrompt(prompt)) => frame.system_prompt = Some(prompt),
        }
        frame
    }
}

impl<Event: Blocks> Decision<Event> {
    /// Refuses it. What a reason is shown to depends on the event: the model for a tool, the user for the rest.
    pub fn block(reason: impl Display) -> Self {
        Self::of(Kind::Block(reason.to_string()))
    }
}

impl<Event: Rewrites> Decision<Event> {
    /// Lets it pass as something else: a tool call with other arguments, a message with another text, a result with other
    /// content, a session with another system prompt. For an assistant's message `""` is no rewrite.
    pub fn rewrite(to: impl Into<Event::To>) -> Self {
        Self::of(Kind::Rewrite(Event::change(to.into())))
    }
}

/// An error refuses. For [`BeforeAgentStart`], which cannot be refused, the host goes on as if nothing had been said.
impl<Event, E: Display> From<Result<Decision<Event>, E>> for Decision<Event> {
    fn from(result: Result<Decision<Event>, E>) -> Self {
        result.unwrap_or_else(|error| Self::of(Kind::Block(error.to_string())))
    }
}
