//! Events that an extension can observe: `subscribe` and the one-way `event`.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::{integer, optional_integer};
use crate::{
    Content, InterceptName, Object, ToolId,
    absent::{is_false, or_default},
    open_set::open_set,
    tagged::tagged,
};

/// Subscribes to events and interceptions. It can be sent more than once; subscriptions are
/// cumulative. Unknown names are ignored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [
    {"type": "subscribe", "events": ["session_start", "turn_end"], "intercept": ["tool_call"]}
]))]
#[non_exhaustive]
pub struct Subscribe {
    /// Events to observe. They need no reply. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventName>,
    /// Events to intercept before they happen. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<InterceptName>,
}

impl Subscribe {
    /// Subscribes to the events in `events` and intercepts those in `intercept`.
    pub fn new(
        events: impl IntoIterator<Item = EventName>,
        intercept: impl IntoIterator<Item = InterceptName>,
    ) -> Self {
        Self {
            events: events.into_iter().collect(),
            intercept: intercept.into_iter().collect(),
        }
    }
}

tagged! {
    /// A notification that something happened. It needs no reply.
    pub enum Event by "event",
    /// The name of an event that can be observed.
    named EventName {
        "session_start" => SessionStart(SessionStart),
        "session_end" => SessionEnd(SessionEnd),
        "user_message" => UserMessage(UserMessageEvent),
        "turn_start" => TurnStart(TurnStart),
        "tool_call" => ToolCall(ToolCallEvent),
        "tool_result" => ToolResult(ToolResultEvent),
        "assistant_message" => AssistantMessage(AssistantMessageEvent),
        "turn_end" => TurnEnd(TurnEnd),
        "compact" => Compact(CompactEvent),
    }
}

/// A session has started. Every extension receives this once per session, as its first event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"event": "session_start"}]))]
#[non_exhaustive]
pub struct SessionStart {}

/// A session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"event": "session_end", "reason": "clear"}]))]
#[non_exhaustive]
pub struct SessionEnd {
    /// Why the session ended.
    pub reason: EndReason,
}

open_set! {
    /// Why a session ended.
    pub enum EndReason {
        /// The host is shutting down.
        "shutdown" => Shutdown,
        /// The user switched to another session.
        "session_switch" => SessionSwitch,
        /// The user cleared the transcript.
        "clear" => Clear,
    }
}

/// The user sent a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"event": "user_message", "text": "fix the failing test", "image_count": 1}]))]
#[non_exhaustive]
pub struct UserMessageEvent {
    /// The message's text. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
    /// The number of images attached to the message. Absent: 0.
    #[new(default)]
    #[serde(default, deserialize_with = "optional_integer")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_count: Option<u32>,
    /// Whether `text` was truncated to its size limit. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// The model is about to be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"event": "turn_start", "step": 1}]))]
#[non_exhaustive]
pub struct TurnStart {
    /// The number of this model call within the user's prompt, from 1.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
}

/// The model or an extension requested a tool call. It has not been intercepted or confirmed yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"event": "tool_call", "tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "foo.go"}}
]))]
#[non_exhaustive]
pub struct ToolCallEvent {
    /// The model's ID for this call. Absent: the model gave none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// The tool's name.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, as the model or the calling extension gave them.
    pub tool_args: Object,
    /// The extension that called the tool with `call_tool`. Absent: the model called it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether `tool_args` was replaced with `{}` because it was too large. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

open_set! {
    /// How a tool call ended.
    pub enum ToolStatus {
        /// It ran successfully.
        "completed" => Completed,
        /// It ran and failed.
        "failed" => Failed,
        /// An interceptor or the user blocked it.
        "blocked" => Blocked,
        /// The user aborted the turn.
        "cancelled" => Cancelled,
        /// It timed out.
        "timed_out" => TimedOut,
    }
}

/// A tool call has ended, successfully or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{
    "event": "tool_result", "tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "foo.go"},
    "status": "completed", "content": [{"type": "text", "text": "package foo"}], "is_error": false
}]))]
#[non_exhaustive]
pub struct ToolResultEvent {
    /// The model's ID for this call.
    #[new(into)]
    pub tool_id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub tool_name: String,
    /// The arguments that the tool ran with.
    pub tool_args: Object,
    /// How the call ended.
    pub status: ToolStatus,
    /// The content that the model receives.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The extension that called the tool with `call_tool`. Absent: the model called it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether `content` was truncated to its size limit and `tool_args` replaced with `{}`.
    /// Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// The model has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"event": "assistant_message", "text": "The test passes now."}]))]
#[non_exhaustive]
pub struct AssistantMessageEvent {
    /// The text, as shown to the user. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
    /// Whether `text` was truncated to its size limit. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

open_set! {
    /// Why a model call ended.
    pub enum StopReason {
        /// The model finished its answer.
        "end_turn" => EndTurn,
        /// The model is waiting for the results of its tool calls.
        "tool_use" => ToolUse,
        /// The answer reached the maximum length.
        "length" => Length,
        /// The call failed or was blocked.
        "error" => Error,
        /// The user aborted the call.
        "aborted" => Aborted,
    }
}

/// A model call has ended. There is one for every `turn_start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"event": "turn_end", "stop": "end_turn"},
    {"event": "turn_end", "stop": "error", "error": "outside business hours"}
]))]
#[non_exhaustive]
pub struct TurnEnd {
    /// Why the call ended. Other hosts may send values that are not listed here.
    pub stop: StopReason,
    /// With `stop: "error"`: the error message. Absent: no error.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether `error` was truncated to its size limit. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// The transcript was replaced with a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"event": "compact", "summary": "The user is fixing a parser; two tests still fail."}]))]
#[non_exhaustive]
pub struct CompactEvent {
    /// The summary. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub summary: String,
    /// Whether `summary` was truncated to its size limit. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}
