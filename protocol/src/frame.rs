//! The frames that are sent in each direction of a connection.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CallTool, CallToolCancel, CallToolResult, ClearNotes, CommandInvoked, CommandResponse, Event,
    EventIntercept, EventInterceptResponse, Hello, HelloAck, Id, Notify, OpenPanel, PanelClose,
    PanelKey, PanelRender, PanelResize, Ready, RegisterCommand, RegisterTool, Shutdown,
    ShutdownAck, Submit, Subscribe, ToolCall, ToolCancel, ToolProgress, ToolResult, tagged::tagged,
};

tagged! {
    /// A frame that an extension sends to the host.
    pub enum FromExtension by "type" {
        "hello" => Hello(Hello),
        "register_command" => RegisterCommand(RegisterCommand),
        "register_tool" => RegisterTool(RegisterTool),
        "subscribe" => Subscribe(Subscribe),
        "ready" => Ready(Ready),
        "command_response" => CommandResponse(CommandResponse),
        "tool_result" => ToolResult(ToolResult),
        "tool_progress" => ToolProgress(ToolProgress),
        "event_intercept_response" => EventInterceptResponse(EventInterceptResponse),
        "notify" => Notify(Notify),
        "clear_notes" => ClearNotes(ClearNotes),
        "shutdown_ack" => ShutdownAck(ShutdownAck),
        "open_panel" => OpenPanel(OpenPanel),
        "panel_render" => PanelRender(PanelRender),
        "panel_close" => PanelClose(PanelClose),
        "submit" => Submit(Submit),
        "call_tool" => CallTool(CallTool),
        "call_tool_cancel" => CallToolCancel(CallToolCancel),
    }
}

tagged! {
    /// A frame that the host sends to an extension.
    pub enum FromHost by "type" {
        "hello_ack" => HelloAck(HelloAck),
        "command_invoked" => CommandInvoked(CommandInvoked),
        "tool_call" => ToolCall(ToolCall),
        "event" => Event(Event),
        "event_intercept" => EventIntercept(EventIntercept),
        "shutdown" => Shutdown(Shutdown),
        "tool_cancel" => ToolCancel(ToolCancel),
        "tool_result" => ToolResult(CallToolResult),
        "panel_key" => PanelKey(PanelKey),
        "panel_resize" => PanelResize(PanelResize),
        "panel_close" => PanelClose(PanelClose),
        "error" => Error(FrameError),
    }
}

/// The host rejected a frame from this extension. Sent only to extensions with the capability
/// `errors`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{
    "type": "error", "frame_type": "tool_result", "id": "t1", "pointer": "/content/0/type",
    "message": "tool_result: /content/0/type: \"txt\" is not one of \"text\", \"image\""
}]))]
#[non_exhaustive]
pub struct FrameError {
    /// The `type` of the rejected frame. Absent: it could not be read.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_type: Option<String>,
    /// The `id` of the rejected frame. Absent: it had none, or it could not be read.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The invalid location in the frame, as a JSON pointer; `""` is the whole frame. Absent: the
    /// line was not JSON.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What is wrong, on one line.
    #[new(into)]
    #[serde(default, deserialize_with = "crate::absent::or_default")]
    pub message: String,
}
