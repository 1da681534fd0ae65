//! Tools: registered by an extension, called by the model, and called back by an extension.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Content, Id, Object,
    absent::{is_false, or_default},
    pattern, schema,
};

/// Offers a tool to the model. A built-in of that name wins, then the first extension in load order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "register_tool", "name": "weather", "description": "Get the current weather for a city.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
}]))]
#[non_exhaustive]
pub struct RegisterTool {
    /// The name the model calls it by: 1 to 64 letters, digits, `_` and `-`.
    #[new(into)]
    #[schemars(regex(pattern = pattern::TOOL_NAME))]
    pub name: String,
    /// What the tool does and when to use it, for the model. Absent: nothing is said.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema of the arguments. Its `type` is `object`; absent, it is taken to be. References out of
    /// the schema itself are refused.
    #[schemars(schema_with = "schema::object_schema")]
    pub schema: Object,
    /// A JSON Schema of `tool_result.structured_content`. Absent: anything.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Object>,
    /// The tool talks with the user and has no deadline; outside an interactive host a call is an error.
    /// Absent: false.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub interactive: bool,
    /// The host checks the arguments against `schema` and answers the model itself when they do not fit.
    /// Absent: false, and checking them is the extension's part.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub strict: bool,
}

/// The model calls a tool of this extension. Answer with `tool_result`, within 60 s or after `tool_progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_call", "id": "t1", "name": "weather", "args": {"city": "Berlin"}}
]))]
#[non_exhaustive]
pub struct ToolCall {
    /// To be echoed in the result.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// The tool, as it was registered.
    #[new(into)]
    pub name: String,
    /// The arguments as the model produced them, or as an interceptor rewrote them.
    pub args: Object,
}

/// The answer to `tool_call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_result", "id": "t1", "content": [{"type": "text", "text": "Berlin: 16 °C, fog"}]},
    {"type": "tool_result", "id": "t2", "content": [{"type": "text", "text": "no such city"}], "is_error": true},
    {"type": "tool_result", "id": "t3", "content": [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="}]}
]))]
#[non_exhaustive]
pub struct ToolResult {
    /// The `id` of the `tool_call`.
    #[new(into)]
    pub id: Id,
    /// What the model gets to see, in order. It may be empty.
    pub content: Vec<Content>,
    /// Whether the call failed. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub is_error: bool,
    /// The result as a value, checked against the tool's `output_schema`. Absent: none.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

/// A line shown to the user while the tool runs. It starts the tool's clock again, up to 10 minutes in all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_progress", "id": "t1", "text": "asked 2 of 5 stations"}]))]
#[non_exhaustive]
pub struct ToolProgress {
    /// The `id` of the `tool_call`.
    #[new(into)]
    pub id: Id,
    /// The line. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// The call was aborted or timed out; its result will be dropped. Sent only to an extension with the
/// capability `tool_cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_cancel", "id": "t1"}]))]
#[non_exhaustive]
pub struct ToolCancel {
    /// The `id` of the `tool_call`.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
}

/// The extension calls any active tool, through interception and confirmation as the model would.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "call_tool", "id": "x1", "name": "read", "args": {"path": "README.md"}, "parent_id": "t1"}
]))]
#[non_exhaustive]
pub struct CallTool {
    /// Chosen by the extension, never used twice; the host's `tool_result` echoes it.
    #[new(into)]
    pub id: Id,
    /// The tool to call.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its arguments.
    pub args: Object,
    /// The `id` of the `tool_call` in whose handling this call is made. Absent: it is made on the extension's own
    /// account.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Id>,
}

/// The extension no longer wants the answer to its `call_tool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "call_tool_cancel", "id": "x1"}]))]
#[non_exhaustive]
pub struct CallToolCancel {
    /// The `id` of the `call_tool`.
    #[new(into)]
    pub id: Id,
}

/// The host's answer to `call_tool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{
    "type": "tool_result", "id": "x1", "name": "read",
    "content": [{"type": "text", "text": "# zot"}], "is_error": false
}]))]
#[non_exhaustive]
pub struct CallToolResult {
    /// The `id` of the `call_tool`.
    #[new(into)]
    pub id: Id,
    /// The tool that was called.
    #[new(into)]
    pub name: String,
    /// Its result, at most 256 KiB.
    pub content: Vec<Content>,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// Whether the result was cut to its limit. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}
