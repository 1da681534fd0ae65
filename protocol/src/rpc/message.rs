//! Transcript messages, as a driver sees them.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{Object, ToolId, absent::or_default, open_set::open_set, tagged::tagged};

open_set! {
    /// The author of a message.
    pub enum Role {
        /// The user, or a command that submitted a prompt for them.
        "user" => User,
        /// The model.
        "assistant" => Assistant,
        /// The tools, reporting their results.
        "tool" => Tool,
    }
}

/// One message of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "role": "user", "content": [{"type": "text", "text": "fix the failing test"}], "time": "2026-04-19T11:30:00Z"
}]))]
#[non_exhaustive]
pub struct Message {
    /// The author of the message.
    pub role: Role,
    /// The message's content, in order.
    pub content: Vec<Block>,
    /// The time of the message, in RFC 3339 format.
    #[new(into)]
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
}

tagged! {
    /// One block of a message.
    pub enum Block by "type" {
        "text" => Text(TextBlock),
        "image" => Image(ImageBlock),
        "tool_call" => ToolCall(ToolCallBlock),
        "tool_result" => ToolResult(ToolResultBlock),
    }
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct TextBlock {
    /// The text. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// An image without its data, which keeps transcripts small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ImageBlock {
    /// The media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// The size of the image, in bytes.
    #[serde(deserialize_with = "integer")]
    pub bytes: u64,
}

/// A tool call by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolCallBlock {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub name: String,
    /// The arguments, as the model gave them.
    pub args: Object,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolResultBlock {
    /// The `id` of the tool call.
    #[new(into)]
    pub call_id: ToolId,
    /// Whether the call failed.
    pub is_error: bool,
    /// The content that the model receives: text and images.
    pub content: Vec<Block>,
}
