//! What an extension may observe: `subscribe` and the one-way `event`.

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

/// Says which events the extension wants to observe and which to intercept. It may be sent more than once; the
/// union counts. An unknown name is ignored by itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [
    {"type": "subscribe", "events": ["session_start", "turn_end"], "intercept": ["tool_call"]}
]))]
#[non_exhaustive]
pub struct Subscribe {
    /// Events to be told of, without a reply. Absent: none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<EventName>>")]
    pub events: Vec<EventName>,
    /// Events to be asked about before they happen. Absent: none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<InterceptName>>")]
    pub intercept: Vec<InterceptName>,
}

impl Subscribe {
    /// To observe `events` and to intercept `intercept`.
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
    /// Something happened. One-way: there is no reply.
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

/// A session has begun: the first event of every extension, once per session.
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
    /// Why it has ended.
    pub reason: EndReason,
}

open_set! {
    /// Why a session has ended.
    pub enum EndReason {
        /// The host ends.
        "shutdown" => Shutdown,
        /// The user has gone to another session.
        "session_switch" => SessionSwitch,
        /// The user has dropped the transcript.
        "clear" => Clear,
    }
}

/// The user has sent a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"event": "user_message", "text": "fix the failing test", "image_count": 1}]))]
#[non_exhaustive]
pub struct UserMessageEvent {
    /// Its text. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
    /// How many images came with it. Absent: none.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub image_count: Option<u32>,
    /// Whether `text` was cut to its limit. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}

/// The model is about to be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"event": "turn_start", "step": 1}]))]
#[non_exhaustive]
pub struct TurnStart {
    /// Which model call of the user's prompt this is, from 1.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
}

/// The model or an extension wants to call a tool; no extension or user has been asked about it yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"event": "tool_call", "tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "foo.go"}}
]))]
#[non_exhaustive]
pub struct ToolCallEvent {
    /// The model's name for this call. Absent: it gave none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// The tool.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, as the model or the calling extension proposed them.
    pub tool_args: Object,
    /// The extension that makes this call with `call_tool`. Absent: the model makes it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether `tool_args` was emptied because it was too large. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}

open_set! {
    /// How a tool call ended.
    pub enum ToolStatus {
        /// It ran and succeeded.
        "completed" => Completed,
        /// It ran and failed.
        "failed" => Failed,
        /// An interceptor or the user refused it.
        "blocked" => Blocked,
        /// The turn was aborted.
        "cancelled" => Cancelled,
        /// It did not answer in time.
        "timed_out" => TimedOut,
    }
}

/// A tool call has ended, whichever way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{
    "event": "tool_result", "tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "foo.go"},
    "status": "completed", "content": [{"type": "text", "text": "package foo"}], "is_error": false
}]))]
#[non_exhaustive]
pub struct ToolResultEvent {
    /// The model's name for this call.
    #[new(into)]
    pub tool_id: ToolId,
    /// The tool.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, as the tool got them.
    pub tool_args: Object,
    /// How it ended.
    pub status: ToolStatus,
    /// What the model gets to see.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The extension that makes this call with `call_tool`. Absent: the model makes it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether `content` was cut to its limit, and `tool_args` emptied. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}

/// The model has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"event": "assistant_message", "text": "The test passes now."}]))]
#[non_exhaustive]
pub struct AssistantMessageEvent {
    /// The text as it is shown to the user. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
    /// Whether `text` was cut to its limit. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}

open_set! {
    /// Why a model call ended.
    pub enum StopReason {
        /// The model has said all it wanted to.
        "end_turn" => EndTurn,
        /// The model waits for the results of its tool calls.
        "tool_use" => ToolUse,
        /// The answer reached its maximal length.
        "length" => Length,
        /// The call failed or was refused.
        "error" => Error,
        /// The user aborted it.
        "aborted" => Aborted,
    }
}

/// A model call has ended. Every `turn_start` has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"event": "turn_end", "stop": "end_turn"},
    {"event": "turn_end", "stop": "error", "error": "outside business hours"}
]))]
#[non_exhaustive]
pub struct TurnEnd {
    /// Why it ended. Other hosts may say something that is not among the examples.
    pub stop: StopReason,
    /// With `stop: "error"`: what went wrong. Absent: nothing did.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether `error` was cut to its limit. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}

/// The transcript was replaced by a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"event": "compact", "summary": "The user fixes a parser; two tests still fail."}]))]
#[non_exhaustive]
pub struct CompactEvent {
    /// The summary. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub summary: String,
    /// Whether `summary` was cut to its limit. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub truncated: bool,
}
