//! The start and end of a connection: `hello`, `hello_ack`, `ready`, `shutdown`, `shutdown_ack`.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{EventName, InterceptName, absent::or_default, open_set::open_set};

open_set! {
    /// An optional feature that an extension or the host supports.
    pub enum Capability {
        /// Registers slash commands. Advisory.
        "commands" => Commands,
        /// Registers tools. Advisory.
        "tools" => Tools,
        /// Subscribes to events. Advisory.
        "events" => Events,
        /// Opens panels. Advisory.
        "panels" => Panels,
        /// Enables `tool_cancel`.
        "tool_cancel" => ToolCancel,
        /// Enables the reply to `call_tool`.
        "call_tool" => CallTool,
        /// Enables `error`, which reports a rejected frame to the extension that sent it.
        "errors" => Errors,
    }
}

/// Identifies the extension. It must be the first frame. The host replies immediately with
/// `hello_ack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "hello", "name": "weather", "version": "1.0.0", "capabilities": ["commands", "tools"]}
]))]
#[non_exhaustive]
pub struct Hello {
    /// The extension's name. It should match `name` in the manifest; if it does not, the manifest's
    /// name is used.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub name: String,
    /// The extension's own version, in any format. Absent: unknown.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the extension supports. `commands`, `tools`, `events` and `panels` are advisory;
    /// `tool_cancel`, `call_tool` and `errors` enable the corresponding frames. Unknown
    /// capabilities are ignored. Absent: none.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
}

/// The host's reply to `hello`. It describes the host, the model in use, and the directories that
/// the extension works with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {
        "type": "hello_ack", "protocol_version": 1, "zot_version": "0.1.0", "provider": "anthropic",
        "model": "claude-opus-4-5", "cwd": "/home/user/project",
        "extension_dir": "/home/user/.local/state/zot/extensions/weather",
        "data_dir": "/home/user/.local/state/zot/extension-data/weather",
        "capabilities": ["tool_cancel", "call_tool", "errors"],
        "supported_events": ["session_start", "turn_start"], "supported_intercepts": ["tool_call"]
    }
]))]
#[non_exhaustive]
pub struct HelloAck {
    /// The protocol version that the host speaks: 1. Within a version, frames, fields and events
    /// are only ever added.
    #[serde(deserialize_with = "integer")]
    pub protocol_version: u32,
    /// The host's own version. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub zot_version: String,
    /// The model provider in use, such as `anthropic`, `openai` or `demo`. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub provider: String,
    /// The model in use, as the provider names it. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub model: String,
    /// The user's working directory, as an absolute path. The extension's own working directory is
    /// `extension_dir`. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub cwd: String,
    /// The directory that contains the manifest, as an absolute path. Absent: the host is too old
    /// to report it.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension_dir: Option<String>,
    /// A directory for this extension's own files, as an absolute path. It exists, is writable, and
    /// survives updates. Absent: the host is too old to provide one.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// The optional features that the host supports. Absent: the host is older and supports none.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// The events that `subscribe.events` can contain. Absent: the host is older and supports only
    /// `session_start`, `turn_start`, `tool_call`, `assistant_message` and `turn_end`.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_events: Vec<EventName>,
    /// The events that `subscribe.intercept` can contain. Absent: the host is older and supports
    /// only `tool_call`, `turn_start` and `assistant_message`.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_intercepts: Vec<InterceptName>,
}

/// Signals that all registrations have been sent. Without it, the host treats an extension as ready
/// after 250 ms without a frame.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "ready"}]))]
#[non_exhaustive]
pub struct Ready {}

/// The host is about to stop or reload this extension: reply with `shutdown_ack` and exit within 2
/// s. The end of stdin means the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "shutdown"}]))]
#[non_exhaustive]
pub struct Shutdown {}

/// The reply to `shutdown`, and the extension's last frame.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "shutdown_ack"}]))]
#[non_exhaustive]
pub struct ShutdownAck {}
