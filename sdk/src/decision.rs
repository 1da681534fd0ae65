//! Interceptor decisions.

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
    /// The response, without its id.
    response: EventInterceptResponse,
    event: PhantomData<fn(Event)>,
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
    fn rewrite(response: &mut EventInterceptResponse, to: Self::To);
}

macro_rules! intercepted {
    ($( $Event:ty $(: $Trait:ident)?; )*) => {
        $(
            impl sealed::Sealed for $Event {}
            $( impl $Trait for $Event {} )?
        )*
    };
}
intercepted! {
    ToolCallIntercept: Blocks;
    TurnStartIntercept: Blocks;
    AssistantMessageIntercept: Blocks;
    UserMessageIntercept: Blocks;
    ToolResultIntercept: Blocks;
    BeforeAgentStart;
}

/// Specifies which field of the response contains the replacement for each event.
macro_rules! rewrites {
    ($( $Event:ty => $field:ident: $To:ty; )*) => {
        $(
            impl Rewrites for $Event {
                type To = $To;

                fn rewrite(response: &mut EventInterceptResponse, to: $To) {
                    response.$field = Some(to);
                }
            }
        )*
    };
}
rewrites! {
    ToolCallIntercept => modified_args: Object;
    AssistantMessageIntercept => replace_text: String;
    UserMessageIntercept => replace_text: String;
    ToolResultIntercept => replace_content: Vec<Content>;
    BeforeAgentStart => system_prompt: String;
}

impl<Event> Decision<Event> {
    /// Allows the event unchanged.
    pub fn allow() -> Self {
        Self {
            response: EventInterceptResponse::new(""),
            event: PhantomData,
        }
    }

    fn blocked(reason: &impl Display) -> Self {
        let mut decision = Self::allow();
        decision.response.block = true;
        decision.response.reason = Some(reason.to_string());
        decision
    }

    pub(crate) fn frame(mut self, id: Id) -> EventInterceptResponse {
        self.response.id = id;
        self.response
    }
}

impl<Event: Blocks> Decision<Event> {
    /// Blocks the event. The reason is shown to the model for a tool call or result, otherwise to
    /// the user.
    pub fn block(reason: impl Display) -> Self {
        Self::blocked(&reason)
    }
}

impl<Event: Rewrites> Decision<Event> {
    /// Replaces part of the event: the arguments of a tool call, the text of a message, the content
    /// of a result, or the system prompt of a session. For a message, `""` means that the text is
    /// unchanged.
    pub fn rewrite(to: impl Into<Event::To>) -> Self {
        let mut decision = Self::allow();
        Event::rewrite(&mut decision.response, to.into());
        decision
    }
}

/// An error blocks the event. [`BeforeAgentStart`] cannot be blocked, so the host ignores the
/// error.
impl<Event, E: Display> From<Result<Decision<Event>, E>> for Decision<Event> {
    fn from(result: Result<Decision<Event>, E>) -> Self {
        result.unwrap_or_else(|error| Self::blocked(&error))
    }
}
