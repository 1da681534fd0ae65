//! How a connection begins and ends: `hello`, `hello_ack`, `ready`, `shutdown`, `shutdown_ack`.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{EventName, InterceptName, absent::or_default, open_set::open_set};

open_set! {
    /// What an extension, or the host, can do beyond the core.
    pub enum Capability {
        /// Advisory: registers slash commands.
        "commands" => Commands,
        /// Advisory: registers tools.
        "tools" => Tools,
        /// Advisory: subscribes to events.
        "events" => Events,
        /// Advisory: opens panels.
        "panels" => Panels,
        /// Switches on `tool_cancel`.
        "tool_cancel" => ToolCancel,
        /// Switches on the reply to `call_tool`.
        "call_tool" => CallTool,
        /// Switches on `error`: the extension is told which of its frames was refused.
        "errors" => Errors,
    }
}

/// The first frame of every extension: who it is. The host answers at once with `hello_ack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "hello", "name": "weather", "version": "1.0.0", "capabilities": ["commands", "tools"]}
]))]
#[non_exhaustive]
pub struct Hello {
    /// The extension's name. It should equal `name` in its manifest; where it does not, the manifest's counts.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub name: String,
    /// The extension's own version, in any form. Absent: not told.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the extension can do. `commands`, `tools`, `events` and `panels` are advisory; `tool_cancel`,
    /// `call_tool` and `errors` switch on the frames of those names. Unknown ones are ignored. Absent: none.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<Capability>>")]
    pub capabilities: Vec<Capability>,
}

/// The host's answer to `hello`: what it is, and where the extension finds itself.
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
    /// The version of this protocol that the host speaks: 1. Within one version frames, fields and events are
    /// only ever added.
    #[serde(deserialize_with = "integer")]
    pub protocol_version: u32,
    /// The host's own version.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub zot_version: String,
    /// The model provider in use, such as `anthropic`, `openai`, `demo`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub provider: String,
    /// The model in use, by the provider's name for it.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub model: String,
    /// The directory in which the user works, absolute. The extension's own working directory is `extension_dir`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub cwd: String,
    /// The directory of the manifest, absolute. Absent: an older host.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension_dir: Option<String>,
    /// A directory for this extension's own files, absolute. It exists, is writable, and survives updates.
    /// Absent: an older host.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// What the host can do beyond the core. Absent: an older host, which can do none of it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<Capability>>")]
    pub capabilities: Vec<Capability>,
    /// The events that `subscribe.events` may name. Absent: an older host, with the core's five.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<EventName>>")]
    pub supported_events: Vec<EventName>,
    /// The events that `subscribe.intercept` may name. Absent: an older host, with the core's three.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<InterceptName>>")]
    pub supported_intercepts: Vec<InterceptName>,
}

/// All registrations have been sent. Without it the host takes an extension for ready after 250 ms of silence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "ready"}]))]
#[non_exhaustive]
pub struct Ready {}

/// The host is about to end or to reload this extension: answer `shutdown_ack` and exit within 2 s. The end of
/// input alone means the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "shutdown"}]))]
#[non_exhaustive]
pub struct Shutdown {}

/// The answer to `shutdown`, the extension's last frame.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "shutdown_ack"}]))]
#[non_exhaustive]
pub struct ShutdownAck {}
