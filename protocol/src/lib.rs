//! The zot protocol as Rust types: every frame that a host and an extension exchange, every
//! command, response and event of the driver protocol, the manifest, and the configuration file.
//! The JSON Schemas are generated from these types.
//!
//! The crate does no I/O and has no async runtime. The host (`zot-host`), the SDK (`zot-sdk`) and
//! the conformance harness (`zot-conform`) all use these types and share no other code, so a bug in
//! one cannot hide a bug in another.
//!
//! Use this crate to write a host, an SDK or a tool for the protocol. To write an extension in
//! Rust, use `zot-sdk`; in another language, use the schema files under `schema/v1/`.
//!
//! ```
//! use zot_protocol::{Content, FromExtension, FromHost, ToolResult};
//!
//! let line = r#"{"type":"tool_call","id":"7","name":"weather","args":{"city":"Berlin"}}"#;
//! let FromHost::ToolCall(call) = serde_json::from_str(line)? else { unreachable!() };
//!
//! let reply: FromExtension = ToolResult::new(call.id, vec![Content::text("16 °C, fog")]).into();
//! assert_eq!(
//!     serde_json::to_string(&reply)?,
//!     r#"{"type":"tool_result","id":"7","content":[{"type":"text","text":"16 °C, fog"}]}"#,
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Decoding frames
//!
//! * [`FromExtension`] and [`FromHost`] are the two directions. A frame with an unknown `type`
//!   decodes to [`Unknown`], which keeps its name and fields, because new versions only ever add
//!   frames.
//! * Unknown fields are ignored. `null` means absent, and an absent string means `""`.
//! * With the `validate` feature, `validate::frame` turns the bytes of one line into a frame, or
//!   into a refusal that names the frame, the location and the reason.
//! * A schema describes this version of the protocol. The types accept more than the schema does:
//!   an event or content block from a newer peer decodes to [`Unknown`].

#![warn(missing_docs)]

mod absent;
mod approval;
mod builtin;
mod command;
mod config;
mod content;
mod environment;
mod event;
mod frame;
mod handshake;
mod id;
mod integer;
mod intercept;
mod manifest;
mod note;
mod open_set;
mod panel;
mod pattern;
mod permissions;
mod tagged;
mod terminal;
mod tool;

pub mod limits;
pub mod rpc;
pub mod schema;
#[cfg(feature = "validate")]
pub mod validate;

pub use approval::{ApprovalAction, ApprovalRule};
pub use builtin::{BUILTIN_COMMANDS, BUILTIN_TOOLS, is_builtin_command};
pub use command::{Action, CommandInvoked, CommandResponse, RegisterCommand, Submit};
pub use config::{
    Config, DecisionDetail, ExtensionConfig, InterceptConfig, InterceptMode, ModelConfig,
    ProviderApi, ProviderConfig, Reasoning, Trust, TurnNotice,
};
pub use content::{Content, ImageContent, TextContent};
pub use environment::{BASE_ENVIRONMENT, KEY_VARIABLES, RPC_TOKEN, is_granted_variable};
pub use event::{
    AssistantMessageEvent, CompactEvent, EndReason, Event, EventName, SessionEnd, SessionStart,
    StopReason, Subscribe, ToolCallEvent, ToolResultEvent, ToolStatus, TurnEnd, TurnStart,
    UserMessageEvent,
};
pub use frame::{FrameError, FromExtension, FromHost};
pub use handshake::{Capability, Hello, HelloAck, Ready, Shutdown, ShutdownAck};
pub use id::{Id, PanelId, RequestId, ToolId};
pub use intercept::{
    AssistantMessageIntercept, BeforeAgentStart, EventIntercept, EventInterceptResponse, Intercept,
    InterceptName, OnFailure, ToolCallIntercept, ToolResultIntercept, TurnPurpose,
    TurnStartIntercept, UserMessageIntercept,
};
pub use manifest::{InterceptPolicies, InterceptPolicy, Manifest, Timeouts};
pub use note::{ClearNotes, NoteLevel, Notify};
pub use panel::{Key, OpenPanel, Panel, PanelClose, PanelKey, PanelRender, PanelResize};
pub use permissions::{FsPermissions, Net, Permissions};
pub use tagged::{Tagged, Unknown};
pub use terminal::is_unsafe_in_terminal;
pub use tool::{
    CallTool, CallToolCancel, CallToolResult, RegisterTool, ToolCall, ToolCancel, ToolProgress,
    ToolResult,
};

/// The version of the extension protocol that these types describe. The host sends it in
/// `hello_ack`.
pub const PROTOCOL_VERSION: u32 = 1;

/// A JSON object, such as a tool's arguments or its schema. Keys keep their order.
pub type Object = serde_json::Map<String, serde_json::Value>;
