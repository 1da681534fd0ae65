//! Tools: registered by an extension, and called by the model or by another extension.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Content, Id, Object,
    absent::{is_false, or_default},
    pattern, schema,
};

/// Registers a tool for the model. If the name is taken, a built-in tool wins, then the first
/// extension in load order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "register_tool", "name": "weather", "description": "Get the current weather for a city.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
}]))]
#[non_exhaustive]
pub struct RegisterTool {
    /// The name by which the model calls the tool: 1 to 64 letters, digits, `_` and `-`.
    #[new(into)]
    #[schemars(regex(pattern = pattern::TOOL_NAME))]
    pub name: String,
    /// What the tool does and when to use it, for the model. Absent: no description.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema for the arguments. Its `type` must be `object`, which is also the default.
    /// References to other documents are rejected.
    #[schemars(schema_with = "schema::object_schema")]
    pub schema: Object,
    /// A JSON Schema for `tool_result.structured_content`. Absent: any value is valid.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Object>,
    /// Whether the tool interacts with the user. Such a tool has no timeout, and calling it in a
    /// non-interactive host is an error. Absent: false.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub interactive: bool,
    /// Whether the host validates the arguments against `schema` and reports an error to the model
    /// if they are invalid. Absent: false; the extension validates them itself.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub strict: bool,
}

/// The model calls one of this extension's tools. Reply with `tool_result` within 60 s of the call
/// or of the last `tool_progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_call", "id": "t1", "name": "weather", "args": {"city": "Berlin"}}
]))]
#[non_exhaustive]
pub struct ToolCall {
    /// The ID of this call. Copy it into the result.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// The tool's name, as registered.
    #[new(into)]
    pub name: String,
    /// The arguments from the model, or from the interceptor that rewrote them.
    pub args: Object,
}

/// The reply to `tool_call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_result", "id": "t1", "content": [{"type": "text", "text": "Berlin: 16 °C, fog"}]},
    {"type": "tool_result", "id": "t2", "content": [{"type": "text", "text": "no such city"}], "is_error": true},
    {"type": "tool_result", "id": "t3", "content": [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="}]}
]))]
#[non_exhaustive]
pub struct ToolResult {
    /// The `id` of the `tool_call`.
    #[new(into)]
    pub id: Id,
    /// The content that the model receives, in order. It can be empty.
    pub content: Vec<Content>,
    /// Whether the call failed. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// The result as structured data, validated against the tool's `output_schema`. Absent: none.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

/// Shows a line to the user while the tool runs. It restarts the tool's timeout, up to 10 minutes
/// in total.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_progress", "id": "t1", "text": "asked 2 of 5 stations"}]))]
#[non_exhaustive]
pub struct ToolProgress {
    /// The `id` of the `tool_call`.
    #[new(into)]
    pub id: Id,
    /// The line to show. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// The call was aborted or timed out, and its result will be ignored. Sent only to extensions with
/// the capability `tool_cancel`.
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

/// Calls any active tool. The call is intercepted and confirmed like a call from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "call_tool", "id": "x1", "name": "read", "args": {"path": "README.md"}, "parent_id": "t1"}
]))]
#[non_exhaustive]
pub struct CallTool {
    /// The ID of this call. The extension chooses it and must not reuse it. The host's
    /// `tool_result` repeats it.
    #[new(into)]
    pub id: Id,
    /// The name of the tool to call.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub name: String,
    /// The tool's arguments.
    pub args: Object,
    /// The `id` of the `tool_call` that this call is part of. Absent: it is not part of one.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Id>,
}

/// Cancels a `call_tool`: the extension no longer needs its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "call_tool_cancel", "id": "x1"}]))]
#[non_exhaustive]
pub struct CallToolCancel {
    /// The `id` of the `call_tool`.
    #[new(into)]
    pub id: Id,
}

/// The host's reply to `call_tool`.
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
    /// The name of the tool that was called.
    #[new(into)]
    pub name: String,
    /// The tool's result, at most 256 KiB.
    pub content: Vec<Content>,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// Whether the result was truncated to its size limit. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}
