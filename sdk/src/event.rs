//! The events that an extension can subscribe to, each with its payload type.
//!
//! ```
//! use zot_sdk::{Extension, event};
//!
//! let extension = Extension::new("listener", "1.0.0")
//!     .on(event::SESSION_START, |_, ctx| ctx.notify(zot_sdk::NoteLevel::Info, "session started"))
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

/// The name of an event and the type of its payload.
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
    /// A session has started. The first event of each session.
    SESSION_START: SessionStart = SessionStart;
    /// A session has ended. The payload contains the reason.
    SESSION_END: SessionEnd = SessionEnd;
    /// The user has sent a message.
    USER_MESSAGE: UserMessageEvent = UserMessage;
    /// The model is about to be called.
    TURN_START: TurnStart = TurnStart;
    /// The model or an extension has requested a tool call.
    TOOL_CALL: ToolCallEvent = ToolCall;
    /// A tool call has ended, successfully or not.
    TOOL_RESULT: ToolResultEvent = ToolResult;
    /// The model's message, as the user saw it.
    ASSISTANT_MESSAGE: AssistantMessageEvent = AssistantMessage;
    /// A model call has ended.
    TURN_END: TurnEnd = TurnEnd;
    /// The transcript was compacted.
    COMPACT: CompactEvent = Compact;
}
