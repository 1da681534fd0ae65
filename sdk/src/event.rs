//! The events that an extension may hear of, each with the type of what it says.
//!
//! ```
//! use zot_sdk::{Extension, event};
//!
//! let extension = Extension::new("listener", "1.0.0")
//!     .on(event::SESSION_START, |_, ctx| ctx.notify(zot_sdk::NoteLevel::Info, "here we go"))
//!     .on(event::SESSION_END, |end, _| eprintln!("{}", end.reason))
//!     .on(event::USER_MESSAGE, |message, _| eprintln!("{}", message.text))
//!     .on(event::TURN_START, |turn, _| eprintln!("step {}", turn.step))
//!     .on(event::TOOL_CALL, |call, _| eprintln!("{} is called", call.tool_name))
//!     .on(event::TOOL_RESULT, |result, _| eprintln!("{}: {}", result.tool_name, result.status))
//!     .on(event::ASSISTANT_MESSAGE, |message, _| eprintln!("{}", message.text))
//!     .on(event::TURN_END, async |end, _| eprintln!("{}", end.stop))
//!     .on(event::COMPACT, |compact, _| std::fs::write("/tmp/summary", compact.summary));
//! ```

use zot_protocol::{
    AssistantMessageEvent, CompactEvent, Event, EventName, SessionEnd, SessionStart, ToolCallEvent,
    ToolResultEvent, TurnEnd, TurnStart, UserMessageEvent,
};

/// An event by its name, and `Payload`, the type of what it says.
#[derive(Debug)]
pub struct EventKind<Payload> {
    pub(crate) name: EventName,
    pub(crate) take: fn(Event) -> Option<Payload>,
}

macro_rules! kinds {
    ($( $(#[$doc:meta])* $NAME:ident: $Payload:ty = $Variant:ident; )*) => {
        $(
            $(#[$doc])*
            pub const $NAME: EventKind<$Payload> = EventKind {
                name: EventName::$Variant,
                take: |event| match event {
                    Event::$Variant(payload) => Some(payload),
                    _ => None,
                },
            };
        )*
    };
}

kinds! {
    /// A session has begun: the first event of each.
    SESSION_START: SessionStart = SessionStart;
    /// A session has ended, and why.
    SESSION_END: SessionEnd = SessionEnd;
    /// The user has said something.
    USER_MESSAGE: UserMessageEvent = UserMessage;
    /// The model is about to be called.
    TURN_START: TurnStart = TurnStart;
    /// The model wants a tool.
    TOOL_CALL: ToolCallEvent = ToolCall;
    /// A tool has ended, in whatever way.
    TOOL_RESULT: ToolResultEvent = ToolResult;
    /// The model has said something, as the user saw it.
    ASSISTANT_MESSAGE: AssistantMessageEvent = AssistantMessage;
    /// A call of the model has ended.
    TURN_END: TurnEnd = TurnEnd;
    /// The transcript was summed up.
    COMPACT: CompactEvent = Compact;
}
