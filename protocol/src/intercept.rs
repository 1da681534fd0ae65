//! What an extension may decide about: `event_intercept` and its response.

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

/// The host asks before something happens. Answer with `event_intercept_response`, within 5 s.
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
    /// To be echoed in the response.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// The whole chain has answered, and the event is no longer what this extension left behind. Only `block`
    /// counts now. Asked of an extension whose manifest says `final`. Absent: false.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        rename = "final",
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub is_final: bool,
    /// What is about to happen.
    #[serde(flatten)]
    pub event: Intercept,
}

tagged! {
    /// What is about to happen, unless an interceptor objects.
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

/// A tool is about to run. `block`: it does not, and the model gets `reason`. `modified_args`: it runs with these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ToolCallIntercept {
    /// The model's name for this call. Absent: it gave none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// The tool.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, as the interceptors before this one left them.
    pub tool_args: Object,
    /// The extension that makes this call with `call_tool`. Absent: the model makes it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
}

/// The model is about to be called. `block`: it is not, and the user sees `reason`. There is nothing to rewrite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct TurnStartIntercept {
    /// Which model call of the user's prompt this is, from 1; 0 for a call that is no step of a prompt.
    #[serde(deserialize_with = "integer")]
    pub step: u32,
    /// What the model is called for. Absent: a prompt, or an older host.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<TurnPurpose>,
}

open_set! {
    /// What the model is called for.
    pub enum TurnPurpose {
        /// A prompt of the user, or what follows from it.
        "prompt" => Prompt,
        /// A summary that takes the transcript's place.
        "compact" => Compact,
    }
}

/// The user is about to see the model's text. `block`: they see `reason` instead. `replace_text`: they see that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct AssistantMessageIntercept {
    /// The text, as the interceptors before this one left it. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// A user's message is about to be submitted. `block`: it is not, and the user sees `reason`. `replace_text`:
/// that is submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct UserMessageIntercept {
    /// The text, as the interceptors before this one left it. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// A tool's result is about to be used. `block`: the model gets `reason` as an error. `replace_content`: model,
/// user and transcript get that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct ToolResultIntercept {
    /// The model's name for this call.
    #[new(into)]
    pub tool_id: ToolId,
    /// The tool.
    #[new(into)]
    pub tool_name: String,
    /// The arguments, as the tool got them.
    pub tool_args: Object,
    /// The result, as the interceptors before this one left it.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The extension that makes this call with `call_tool`. Absent: the model makes it.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
}

/// The system prompt is about to be used, once per session. `block` is ignored. `system_prompt` replaces it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[non_exhaustive]
pub struct BeforeAgentStart {
    /// The system prompt, as the interceptors before this one left it. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub system_prompt: String,
    /// The model provider in use. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub provider: String,
    /// The model in use. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub model: String,
}

/// The answer to `event_intercept`. With all fields absent: go on, unchanged.
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
    /// Refuses it. Every rewrite is ignored then. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub block: bool,
    /// With `block`: why, for the model or the user. Without it: a line for the log. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `tool_call`: the arguments that the tool gets instead. Absent: as they were.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Object>,
    /// For `assistant_message` and `user_message`: the text instead. `""` or absent: as it was.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_text: Option<String>,
    /// For `tool_result`: the content instead. Absent: as it was.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_content: Option<Vec<Content>>,
    /// For `before_agent_start`: the whole system prompt instead, `""` included. Absent: as it was.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// What a failure of an interceptor means: no answer in time, a crash, an answer that does not validate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OnFailure {
    /// It goes on unchanged.
    #[default]
    Allow,
    /// It is refused, with a reason that names the extension and the failure.
    Block,
}
