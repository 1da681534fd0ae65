//! What the agent tells a driver while it works.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Block;
use crate::integer::integer;
use crate::{
    NoteLevel, Object, StopReason, ToolId, ToolStatus, absent::or_default, tagged::tagged,
};

tagged! {
    /// One line from the agent that answers no command.
    pub enum Event by "type" {
        "user_message" => UserMessage(UserMessage),
        "turn_start" => TurnStart(TurnStart),
        "assistant_start" => AssistantStart(AssistantStart),
        "text_delta" => TextDelta(TextDelta),
        "tool_use_start" => ToolUseStart(ToolUseStart),
        "tool_use_args" => ToolUseArgs(ToolUseArgs),
        "tool_use_end" => ToolUseEnd(ToolUseEnd),
        "tool_call" => ToolCall(ToolCall),
        "tool_progress" => ToolProgress(ToolProgress),
        "tool_result" => ToolResult(ToolResult),
        "assistant_message" => AssistantMessage(AssistantMessage),
        "usage" => Usage(UsageEvent),
        "turn_end" => TurnEnd(TurnEnd),
        "done" => Done(Done),
        "error" => Error(Error),
        "compact_done" => CompactDone(CompactDone),
        "ext_notify" => ExtNotify(ExtNotify),
        "ext_display" => ExtDisplay(ExtDisplay),
        "ext_clear_notes" => ExtClearNotes(ExtClearNotes),
        "ext_tool_call" => ExtToolCall(ExtToolCall),
        "ext_tool_result" => ExtToolResult(ExtToolResult),
    }
}

/// The prompt, as it was added to the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "user_message", "content": [{"type": "text", "text": "hello"}], "time": "2026-04-19T11:30:00Z"
}]))]
#[non_exhaustive]
pub struct UserMessage {
    /// What it says, in order.
    pub content: Vec<Block>,
    /// When, as RFC 3339.
    #[new(into)]
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
}

/// A model call begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "turn_start", "step": 1}]))]
#[non_exhaustive]
pub struct TurnStart {
    /// Which model call of the prompt this is, from 1.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
}

/// The model's answer is about to stream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "assistant_start"}]))]
#[non_exhaustive]
pub struct AssistantStart {}

/// A piece of the model's text. Joined, they are the text the user may see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "text_delta", "delta": "Hel"}]))]
#[non_exhaustive]
pub struct TextDelta {
    /// The piece.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub delta: String,
}

/// The model begins to write a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_start", "id": "toolu_1", "name": "read"}]))]
#[non_exhaustive]
pub struct ToolUseStart {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool.
    #[new(into)]
    pub name: String,
}

/// A piece of the arguments, as the model writes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_args", "id": "toolu_1", "delta": "{\"path\":"}]))]
#[non_exhaustive]
pub struct ToolUseArgs {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The piece, of JSON that is complete only at `tool_use_end`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub delta: String,
}

/// The model has written a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_end", "id": "toolu_1"}]))]
#[non_exhaustive]
pub struct ToolUseEnd {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
}

/// The model wants to call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_call", "id": "toolu_1", "name": "read", "args": {"path": "README.md"}}
]))]
#[non_exhaustive]
pub struct ToolCall {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool.
    #[new(into)]
    pub name: String,
    /// The arguments, as the model proposed them.
    pub args: Object,
}

/// A line from a tool while it runs. While an extension intercepts `tool_result`, it is a count of the lines so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "tool_progress", "id": "toolu_1", "text": "12 of 40 tests"}]))]
#[non_exhaustive]
pub struct ToolProgress {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The line.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// A tool has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "tool_result", "id": "toolu_1", "is_error": false, "content": [{"type": "text", "text": "# zot"}],
    "status": "completed"
}]))]
#[non_exhaustive]
pub struct ToolResult {
    /// The model's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// Whether it failed.
    pub is_error: bool,
    /// What the model gets to see.
    pub content: Vec<Block>,
    /// The extension that ran it. Absent: a built-in tool.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// How it ended. Absent: an older agent.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
}

/// The model's whole message, after it has streamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "assistant_message", "content": [{"type": "text", "text": "Hello!"}], "time": "2026-04-19T11:30:02Z"
}]))]
#[non_exhaustive]
pub struct AssistantMessage {
    /// What it says, in order.
    pub content: Vec<Block>,
    /// When, as RFC 3339.
    #[new(into)]
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
}

/// Tokens and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens that were sent and not read from a cache.
    #[serde(deserialize_with = "integer")]
    pub input: u64,
    /// Tokens that were received.
    #[serde(deserialize_with = "integer")]
    pub output: u64,
    /// Tokens that were read from the provider's cache.
    #[serde(deserialize_with = "integer")]
    pub cache_read: u64,
    /// Tokens that were written to the provider's cache.
    #[serde(deserialize_with = "integer")]
    pub cache_write: u64,
    /// What they cost, in US dollars.
    pub cost_usd: f64,
}

/// Tokens and cost of one model call, and of all so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "usage", "input": 1234, "output": 567, "cache_read": 890, "cache_write": 0, "cost_usd": 0.0123,
    "cumulative": {"input": 1234, "output": 567, "cache_read": 890, "cache_write": 0, "cost_usd": 0.0123}
}]))]
#[non_exhaustive]
pub struct UsageEvent {
    /// Of this model call.
    #[serde(flatten)]
    pub turn: Usage,
    /// Of all model calls since the agent started.
    pub cumulative: Usage,
}

/// A model call has ended. A provider's failure is told here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "turn_end", "stop": "end_turn"},
    {"type": "turn_end", "stop": "error", "error": "the provider answered 529 three times"}
]))]
#[non_exhaustive]
pub struct TurnEnd {
    /// Why it ended.
    pub stop: StopReason,
    /// What went wrong. Absent: nothing did.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A prompt or a compaction is over, well or not. Exactly one for each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "done"}]))]
#[non_exhaustive]
pub struct Done {}

/// Something went wrong that does not end the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "error", "message": "stopped after 50 steps"}]))]
#[non_exhaustive]
pub struct Error {
    /// What, in one line.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// The transcript has been replaced by a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "compact_done", "summary": "The user fixes a parser."}]))]
#[non_exhaustive]
pub struct CompactDone {
    /// The summary.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub summary: String,
}

/// An extension has a note for the user. It may come between turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "ext_notify", "extension": "weather", "level": "info", "message": "refreshed cache"}
]))]
#[non_exhaustive]
pub struct ExtNotify {
    /// The extension.
    #[new(into)]
    pub extension: String,
    /// How the note looks.
    pub level: NoteLevel,
    /// The note.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// An extension's command has something to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "ext_display", "extension": "clock", "text": "23:42"}]))]
#[non_exhaustive]
pub struct ExtDisplay {
    /// The extension.
    #[new(into)]
    pub extension: String,
    /// The text.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// An extension takes its notes back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "ext_clear_notes", "extension": "weather"}]))]
#[non_exhaustive]
pub struct ExtClearNotes {
    /// The extension.
    #[new(into)]
    pub extension: String,
}

/// An extension runs a tool with `call_tool`. It may come at any time, between prompts too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "ext_tool_call", "extension": "deploy", "id": "call-7", "name": "bash", "args": {"command": "git push"}}
]))]
#[non_exhaustive]
pub struct ExtToolCall {
    /// The extension that makes the call.
    #[new(into)]
    pub extension: String,
    /// The host's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool.
    #[new(into)]
    pub name: String,
    /// The arguments, as the interceptors left them.
    pub args: Object,
}

/// A call that an extension made has ended. What it returned goes to the extension alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "ext_tool_result", "extension": "deploy", "id": "call-7", "name": "bash", "status": "completed"}
]))]
#[non_exhaustive]
pub struct ExtToolResult {
    /// The extension that made the call.
    #[new(into)]
    pub extension: String,
    /// The host's name for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool.
    #[new(into)]
    pub name: String,
    /// How it ended.
    pub status: ToolStatus,
}
