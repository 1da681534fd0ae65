//! The driver protocol, `zot rpc`: a driver writes [`Command`]s, and reads one [`Response`] per
//! command as well as the agent's [`Event`]s. `zot --json` prints the same events.

mod command;
mod event;
mod message;
mod response;

pub use command::{
    Abort, Clear, Command, Compact, GetCommands, GetExtensions, GetMessages, GetModels, GetState,
    Hello, Image, Ping, Prompt, ReloadExt, RunCommand, SetModel, SetReasoning, Steer,
};
pub use event::{
    AssistantMessage, AssistantStart, CompactDone, Done, Error, Event, ExtChanged, ExtClearNotes,
    ExtDisplay, ExtNotify, ExtToolCall, ExtToolResult, Retry, Session, SteerBlocked, TextDelta,
    ThinkingDelta, ThinkingEnd, ToolCall, ToolProgress, ToolResult, ToolUseArgs, ToolUseEnd,
    ToolUseStart, TurnEnd, TurnStart, Usage, UsageEvent, UserMessage,
};
pub use message::{Block, ImageBlock, Message, Role, TextBlock, ToolCallBlock, ToolResultBlock};
pub use response::{
    CommandInfo, CommandSource, Commands, Data, ExtensionInfo, ExtensionState, Extensions,
    HelloData, Messages, ModelInfo, ModelSet, Models, NoData, Output, Pong, ReasoningSet,
    ReloadFailure, ReloadStats, Response, RunCommandData, Started, State,
};

/// The version of the driver protocol, sent in the response to `hello`.
pub const PROTOCOL_VERSION: u32 = 1;
