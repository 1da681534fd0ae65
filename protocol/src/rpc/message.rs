//! The messages of a transcript, as a driver sees them.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{Object, ToolId, absent::or_default, open_set::open_set, tagged::tagged};

open_set! {
    /// Who speaks in a message.
    pub enum Role {
        /// The user, or a command's prompt on their behalf.
        "user" => User,
        /// The model.
        "assistant" => Assistant,
        /// The tools, with their results.
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
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Block>,
    /// When, as RFC 3339.
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
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// An image, without its data: transcripts stay small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ImageBlock {
    /// Its media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// How many bytes it has.
    #[serde(deserialize_with = "integer")]
    pub bytes: u64,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolCallBlock {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool.
    #[new(into)]
    pub name: String,
    /// The arguments, as the model proposed them.
    pub args: Object,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolResultBlock {
    /// The `id` of the call.
    #[new(into)]
    pub call_id: ToolId,
    /// Whether it failed.
    pub is_error: bool,
    /// What the model gets to see: text and images.
    pub content: Vec<Block>,
}
