//! Interception: `event_intercept` and its response.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{
    Content, Id, Object, ToolId,
    absent::{is_false, or_default},
    open_set::open_set,
    pattern,
    tagged::tagged,
};

/// Asks the extension to allow, block or rewrite an event before it happens. Reply with
/// `event_intercept_response` within 5 s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {
        "type": "event_intercept", "id": "i1", "event": "tool_call", "tool_id": "toolu_1", "tool_name": "bash",
        "tool_args": {"command": "rm -rf /tmp/foo"}
    },
    {"type": "event_intercept", "id": "i2", "event": "turn_start", "step": 3, "purpose": "prompt"},
    {"type": "event_intercept", "id": "i3", "event": "assistant_message", "text": "The key is sk-ant-…"},
    {"type": "event_intercept", "id": "i4", "event": "user_message", "text": "deploy it"},
    {
        "type": "event_intercept", "id": "i5", "event": "tool_result", "tool_id": "toolu_1", "tool_name": "bash",
        "tool_args": {"command": "env"}, "content": [{"type": "text", "text": "HOME=/root"}], "is_error": false
    },
    {
        "type": "event_intercept", "id": "i6", "event": "before_agent_start", "system_prompt": "You are zot.",
        "provider": "anthropic", "model": "claude-opus-4-5"
    }
]))]
#[non_exhaustive]
pub struct EventIntercept {
    /// The ID of this request. Copy it into the response.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// Whether this is the final check: all interceptors have answered, and one of them changed the
    /// event after this extension saw it. Only `block` has an effect. Sent to extensions whose
    /// manifest sets `final`. Absent: false.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(rename = "final", skip_serializing_if = "is_false")]
    pub is_final: bool,
    /// The event that is about to happen.
    #[serde(flatten)]
    pub event: Intercept,
}

tagged! {
    /// An event that is about to happen, unless an interceptor blocks it.
    pub enum Intercept by "event",
    /// The name of an event that can be intercepted.
    named InterceptName {
        "tool_call" => ToolCall(ToolCallIntercept),
        "turn_start" => TurnStart(TurnStartIntercept),
        "assistant_message" => AssistantMessage(AssistantMessageIntercept),
        "user_message" => UserMessage(UserMessageIntercept),
        "tool_result" => ToolResult(ToolResultIntercept),
        "before_agent_start" => BeforeAgentStart(BeforeAgentStart),
    }
}

/// A tool is about to run. `block`: it does not run, and the model receives `reason`.
/// `modified_args`: it runs with these arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolCallIntercept {
    /// The model's ID for this call. Absent: the model gave none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// The tool's name.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, including changes by earlier interceptors.
    pub tool_args: Object,
    /// The extension that called the tool with `call_tool`. Absent: the model called it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
}

/// The model is about to be called. `block`: it is not called, and the user sees `reason`. Nothing
/// can be rewritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct TurnStartIntercept {
    /// The number of this model call within the user's prompt, from 1. 0: the call is not part of a
    /// prompt.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
    /// Why the model is called. Absent: the call is for a prompt, or the host is too old to report
    /// it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<TurnPurpose>,
}

open_set! {
    /// Why the model is called.
    pub enum TurnPurpose {
        /// The user's prompt, or a step that follows from it.
        "prompt" => Prompt,
        /// A summary that replaces the transcript.
        "compact" => Compact,
    }
}

/// The model's text is about to be shown to the user. `block`: the user sees `reason` instead.
/// `replace_text`: the user sees that text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct AssistantMessageIntercept {
    /// The text, including changes by earlier interceptors. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// A user message is about to be submitted. `block`: it is not submitted, and the user sees
/// `reason`. `replace_text`: that text is submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct UserMessageIntercept {
    /// The text, including changes by earlier interceptors. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// A tool's result is about to be used. `block`: the model receives `reason` as an error.
/// `replace_content`: the model, the user and the transcript receive that content instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct ToolResultIntercept {
    /// The model's ID for this call.
    #[new(into)]
    pub tool_id: ToolId,
    /// The tool's name.
    #[new(into)]
    pub tool_name: String,
    /// The arguments that the tool ran with.
    pub tool_args: Object,
    /// The result, including changes by earlier interceptors.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The extension that called the tool with `call_tool`. Absent: the model called it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
}

/// A session is about to use its system prompt. Sent once per session. `block` is ignored.
/// `system_prompt`: the session uses that prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct BeforeAgentStart {
    /// The system prompt, including changes by earlier interceptors. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub system_prompt: String,
    /// The model provider in use. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub provider: String,
    /// The model in use. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub model: String,
}

/// The reply to `event_intercept`. If all fields are absent, the event proceeds unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "event_intercept_response", "id": "i1", "block": true, "reason": "refused: rm -rf"},
    {"type": "event_intercept_response", "id": "i1", "modified_args": {"command": "echo GUARDED: ls"}},
    {"type": "event_intercept_response", "id": "i3", "replace_text": "The key is [redacted]"},
    {"type": "event_intercept_response", "id": "i5", "replace_content": [{"type": "text", "text": "[redacted]"}]},
    {"type": "event_intercept_response", "id": "i6", "system_prompt": "You are zot. Answer in French."},
    {"type": "event_intercept_response", "id": "i2"}
]))]
#[non_exhaustive]
pub struct EventInterceptResponse {
    /// The `id` of the `event_intercept`.
    #[new(into)]
    pub id: Id,
    /// Whether to block the event. Rewrites are then ignored. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub block: bool,
    /// With `block`: the reason, shown to the model or the user. Without `block`: a line for the
    /// log. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `tool_call`: the arguments to run the tool with. Absent: unchanged.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Object>,
    /// For `assistant_message` and `user_message`: the new text. `""` or absent: unchanged.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_text: Option<String>,
    /// For `tool_result`: the new content. Absent: unchanged.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_content: Option<Vec<Content>>,
    /// For `before_agent_start`: the new system prompt, which may be `""`. Absent: unchanged.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// What happens to an event when its interceptor times out, crashes or sends an invalid reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OnFailure {
    /// The event proceeds unchanged.
    #[default]
    Allow,
    /// The event is blocked, with a reason that names the extension and the failure.
    Block,
}
