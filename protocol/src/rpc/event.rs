//! The events that the agent sends to a driver.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Block;
use crate::integer::integer;
use crate::{
    NoteLevel, Object, StopReason, ToolId, ToolStatus, absent::or_default, tagged::tagged,
};

tagged! {
    /// A line from the agent that is not the response to a command.
    pub enum Event by "type" {
        "session" => Session(Session),
        "user_message" => UserMessage(UserMessage),
        "steer_blocked" => SteerBlocked(SteerBlocked),
        "turn_start" => TurnStart(TurnStart),
        "assistant_start" => AssistantStart(AssistantStart),
        "text_delta" => TextDelta(TextDelta),
        "thinking_delta" => ThinkingDelta(ThinkingDelta),
        "thinking_end" => ThinkingEnd(ThinkingEnd),
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
        "retry" => Retry(Retry),
        "ext_notify" => ExtNotify(ExtNotify),
        "ext_display" => ExtDisplay(ExtDisplay),
        "ext_clear_notes" => ExtClearNotes(ExtClearNotes),
        "ext_tool_call" => ExtToolCall(ExtToolCall),
        "ext_tool_result" => ExtToolResult(ExtToolResult),
        "ext_changed" => ExtChanged(ExtChanged),
    }
}

/// The session that the run is stored in. The first event of `zot --json`; `zot rpc` does not send
/// it, because `get_state` returns the id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "session", "session_id": "019a9a3c-5e5f-7c44-a1b2-0d6f9e3c8b71"}]))]
#[non_exhaustive]
pub struct Session {
    /// The ID of the session, for `--resume`.
    #[new(into)]
    pub session_id: String,
}

/// The prompt, as added to the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "user_message", "content": [{"type": "text", "text": "hello"}], "time": "2026-04-19T11:30:00Z"
}]))]
#[non_exhaustive]
pub struct UserMessage {
    /// The message's content, in order.
    pub content: Vec<Block>,
    /// The time of the message, in RFC 3339 format.
    #[new(into)]
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
}

/// An extension blocked a message of `steer`: the oldest one that has not been delivered. The prompt
/// continues without it. Each message that `steer` has accepted ends in one `user_message` or
/// `steer_blocked`, in the order of the commands, or is dropped if the prompt is aborted or fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "steer_blocked", "reason": "the message contains a password"}]))]
#[non_exhaustive]
pub struct SteerBlocked {
    /// Why the extension blocked the message. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub reason: String,
}

/// A model call starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "turn_start", "step": 1}]))]
#[non_exhaustive]
pub struct TurnStart {
    /// The number of this model call within the prompt, from 1.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
}

/// The model's answer begins, or starts over after a `retry`. Not sent if the model call fails
/// before the answer begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "assistant_start"}]))]
#[non_exhaustive]
pub struct AssistantStart {}

/// A piece of the model's text. Together, the pieces are the text to show to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "text_delta", "delta": "Hel"}]))]
#[non_exhaustive]
pub struct TextDelta {
    /// The piece of text. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub delta: String,
}

/// A piece of the model's reasoning, which can come before and between pieces of its text. After a
/// `retry`, the reasoning starts over. Not sent while an extension intercepts `assistant_message`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "thinking_delta", "delta": "The test fails because"}]))]
#[non_exhaustive]
pub struct ThinkingDelta {
    /// The piece of reasoning. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub delta: String,
}

/// A block of the model's reasoning has ended. Not sent while an extension intercepts
/// `assistant_message`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "thinking_end"}, {"type": "thinking_end", "redacted": true}]))]
#[non_exhaustive]
pub struct ThinkingEnd {
    /// Whether the provider withholds the text of this block, so that no `thinking_delta` was sent
    /// for it. Absent: false.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub redacted: bool,
}

/// The model starts to write a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_start", "id": "toolu_1", "name": "read"}]))]
#[non_exhaustive]
pub struct ToolUseStart {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub name: String,
}

/// A piece of a tool call's arguments, as the model writes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_args", "id": "toolu_1", "delta": "{\"path\":"}]))]
#[non_exhaustive]
pub struct ToolUseArgs {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// A piece of JSON. The JSON is complete only at `tool_use_end`. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub delta: String,
}

/// The model has finished writing a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "tool_use_end", "id": "toolu_1"}]))]
#[non_exhaustive]
pub struct ToolUseEnd {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
}

/// The model requests a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "tool_call", "id": "toolu_1", "name": "read", "args": {"path": "README.md"}}
]))]
#[non_exhaustive]
pub struct ToolCall {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub name: String,
    /// The arguments, as the model gave them.
    pub args: Object,
}

/// A line of output from a running tool. While an extension intercepts `tool_result`, the text is
/// only the number of lines so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "tool_progress", "id": "toolu_1", "text": "12 of 40 tests"}]))]
#[non_exhaustive]
pub struct ToolProgress {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The line. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// A tool call has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "tool_result", "id": "toolu_1", "is_error": false, "content": [{"type": "text", "text": "# zot"}],
    "status": "completed"
}]))]
#[non_exhaustive]
pub struct ToolResult {
    /// The model's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// Whether the call failed.
    pub is_error: bool,
    /// The content that the model receives.
    pub content: Vec<Block>,
    /// The extension that ran the tool. Absent: a built-in tool.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// How the call ended. Absent: the agent is too old to report it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
}

/// The model's complete message, sent after it has been streamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "assistant_message", "content": [{"type": "text", "text": "Hello!"}], "time": "2026-04-19T11:30:02Z"
}]))]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The message's content, in order.
    pub content: Vec<Block>,
    /// The time of the message, in RFC 3339 format.
    #[new(into)]
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
}

/// Token counts and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens that were not read from a cache.
    #[serde(deserialize_with = "integer")]
    pub input: u64,
    /// Output tokens.
    #[serde(deserialize_with = "integer")]
    pub output: u64,
    /// Input tokens read from the provider's cache.
    #[serde(deserialize_with = "integer")]
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    #[serde(deserialize_with = "integer")]
    pub cache_write: u64,
    /// The cost, in US dollars.
    pub cost_usd: f64,
}

/// Token counts and cost of one model call and of all calls so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "usage", "input": 1234, "output": 567, "cache_read": 890, "cache_write": 0, "cost_usd": 0.0123,
    "cumulative": {"input": 1234, "output": 567, "cache_read": 890, "cache_write": 0, "cost_usd": 0.0123}
}]))]
#[non_exhaustive]
pub struct UsageEvent {
    /// Usage of this model call.
    #[serde(flatten)]
    pub turn: Usage,
    /// Usage of all model calls since the agent started.
    pub cumulative: Usage,
}

/// A model call has ended. If the user aborts the prompt while tools are running, a second
/// `turn_end`, with `stop` set to `aborted`, follows their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "turn_end", "stop": "end_turn"},
    {"type": "turn_end", "stop": "error", "error": "the provider returned status 529 three times"}
]))]
#[non_exhaustive]
pub struct TurnEnd {
    /// Why the call ended.
    pub stop: StopReason,
    /// The error message. Absent: no error.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A prompt or a compaction has ended, successfully or not. Sent exactly once for each, after all
/// its other events.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "done"}, {"type": "done", "output": {"answer": 42}}]))]
#[non_exhaustive]
pub struct Done {
    /// The answer as JSON, if `zot --json` was started with `--output-schema` and the answer matches
    /// the schema. Absent: there is none.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[serde(default, deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// Deserialises a value that can be `null`, which is different from an absent one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The prompt or the compaction failed. `done` follows. The agent keeps running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "error", "message": "stopped after 50 steps"}]))]
#[non_exhaustive]
pub struct Error {
    /// The error message. Can end with a line that begins with `hint:`. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// The transcript was replaced with a summary, by `compact` or because the context window was
/// nearly full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "compact_done", "summary": "The user is fixing a parser."}]))]
#[non_exhaustive]
pub struct CompactDone {
    /// The summary. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub summary: String,
}

/// The provider is overloaded or cannot be reached, or its answer was cut off. The model call is
/// retried after a delay, unless `abort` ends the prompt. Text that the new answer repeats is not
/// sent again. If the new answer is different, another `assistant_start` comes first: discard the
/// text and the tool calls since the previous one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "retry", "attempt": 1, "wait_ms": 500, "message": "anthropic returned HTTP 529"}
]))]
#[non_exhaustive]
pub struct Retry {
    /// The number of this retry, starting at 1.
    #[serde(deserialize_with = "integer")]
    pub attempt: u32,
    /// The delay in milliseconds.
    #[serde(deserialize_with = "integer")]
    pub wait_ms: u64,
    /// Why the previous attempt failed. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// An extension shows a note to the user. This event can arrive between turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "ext_notify", "extension": "weather", "level": "info", "message": "refreshed cache"}
]))]
#[non_exhaustive]
pub struct ExtNotify {
    /// The extension's name.
    #[new(into)]
    pub extension: String,
    /// The severity of the note.
    pub level: NoteLevel,
    /// The text of the note. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// An extension's command has text to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "ext_display", "extension": "clock", "text": "23:42"}]))]
#[non_exhaustive]
pub struct ExtDisplay {
    /// The extension's name.
    #[new(into)]
    pub extension: String,
    /// The text to show. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// An extension removes its notes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "ext_clear_notes", "extension": "weather"}]))]
#[non_exhaustive]
pub struct ExtClearNotes {
    /// The extension's name.
    #[new(into)]
    pub extension: String,
}

/// An extension calls a tool with `call_tool`. This event can arrive at any time, even between
/// prompts.
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
    /// The host's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub name: String,
    /// The arguments, including changes by interceptors.
    pub args: Object,
}

/// A tool call made by an extension has ended. Only the extension receives the result.
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
    /// The host's ID for this call.
    #[new(into)]
    pub id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub name: String,
    /// How the call ended.
    pub status: ToolStatus,
}

/// The last answer to `get_extensions` or `get_commands` is out of date, for example because an
/// extension has finished starting. Send the command again to get the current list. This event is
/// sent at most once after each of these commands, and can arrive at any time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "ext_changed"}]))]
#[non_exhaustive]
pub struct ExtChanged {}
