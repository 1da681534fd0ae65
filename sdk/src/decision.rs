//! Decisions of interceptors.

use std::{fmt::Display, marker::PhantomData};

use zot_protocol::{
    AssistantMessageIntercept, BeforeAgentStart, Content, EventInterceptResponse, Id, Object,
    ToolCallIntercept, ToolResultIntercept, TurnStartIntercept, UserMessageIntercept,
};

/// An interceptor's decision about an event: allow, block or rewrite it.
///
/// The type depends on the event and offers only what that event allows. A handler can also return
/// a `Result`: an error blocks, and so does a panic.
///
/// ```
/// use zot_sdk::{Decision, Extension};
///
/// let extension = Extension::new("careful", "1.0.0").intercept_tool_call(|mut call, _| {
///     match call.tool_name.as_str() {
///         "write" => Decision::block("writing is not allowed"),
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
/// A turn can be blocked, but not rewritten:
///
/// ```compile_fail,E0599
/// # use zot_sdk::{Decision, Extension, TurnStartIntercept};
/// Decision::<TurnStartIntercept>::rewrite("another step");
/// ```
///
/// A session's prompt can be rewritten, but the session cannot be blocked:
///
/// ```compile_fail,E0599
/// # use zot_sdk::{BeforeAgentStart, Decision};
/// Decision::<BeforeAgentStart>::block("no");
/// ```
///
/// Tool arguments can only be rewritten to an object:
///
/// ```compile_fail,E0277
/// # use zot_sdk::{Decision, Extension};
/// Extension::new("x", "1").intercept_tool_call(|_, _| Decision::rewrite("ls"));
/// ```
///
/// An interceptor must return a decision:
///
/// ```compile_fail,E0277
/// # use zot_sdk::Extension;
/// Extension::new("x", "1").intercept_tool_call(|_, _| ());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<Event> {
    kind: DecisionKind,
    event: PhantomData<fn(Event)>,
}

#[derive(Debug, Clone, PartialEq)]
enum DecisionKind {
    Allow,
    Block(String),
    Rewrite(Change),
}

/// The replacement value, in the response field of its event.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// For a tool call.
    Args(Object),
    /// For a message.
    Text(String),
    /// For a tool's result.
    Content(Vec<Content>),
    /// For a session.
    SystemPrompt(String),
}

mod sealed {
    pub trait Sealed {}
}

/// An event that can be blocked: all except [`BeforeAgentStart`].
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be blocked")]
pub trait Blocks: sealed::Sealed {}

/// An event that can be rewritten: all except [`TurnStartIntercept`].
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be rewritten")]
pub trait Rewrites: sealed::Sealed {
    /// The type of the replacement.
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
    /// Allows the event unchanged.
    pub fn allow() -> Self {
        Self::of(DecisionKind::Allow)
    }

    fn of(kind: DecisionKind) -> Self {
        let event = PhantomData;
        Self { kind, event }
    }

    pub(crate) fn frame(self, id: Id) -> EventInterceptResponse {
        let mut frame = EventInterceptResponse::new(id);
        match self.kind {
            DecisionKind::Allow => {}
            DecisionKind::Block(reason) => {
                frame.block = true;
                frame.reason = Some(reason);
            }
            DecisionKind::Rewrite(Change::Args(args)) => frame.modified_args = Some(args),
            DecisionKind::Rewrite(Change::Text(text)) => frame.replace_text = Some(text),
            DecisionKind::Rewrite(Change::Content(content)) => {
                frame.replace_content = Some(content);
            }
            DecisionKind::Rewrite(Change::SystemPrompt(prompt)) => {
                frame.system_prompt = Some(prompt);
            }
        }
        frame
    }
}

impl<Event: Blocks> Decision<Event> {
    /// Blocks the event. The reason is shown to the model for a tool call or result, otherwise to
    /// the user.
    pub fn block(reason: impl Display) -> Self {
        Self::of(DecisionKind::Block(reason.to_string()))
    }
}

impl<Event: Rewrites> Decision<Event> {
    /// Replaces part of the event: the arguments of a tool call, the text of a message, the content
    /// of a result, or the system prompt of a session. For an assistant message, `""` is not a
    /// rewrite.
    pub fn rewrite(to: impl Into<Event::To>) -> Self {
        Self::of(DecisionKind::Rewrite(Event::change(to.into())))
    }
}

/// An error blocks. [`BeforeAgentStart`] cannot be blocked, so the host ignores the error.
impl<Event, E: Display> From<Result<Decision<Event>, E>> for Decision<Event> {
    fn from(result: Result<Decision<Event>, E>) -> Self {
        result.unwrap_or_else(|error| Self::of(DecisionKind::Block(error.to_string())))
    }
}
