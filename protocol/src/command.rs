//! Slash commands (`register_command`, `command_invoked`, `command_response`) and `submit`.

use derive_new::new;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::{Id, Panel, absent::or_default, pattern};

/// Registers the slash command `/name`. If the name is taken, a built-in command wins, then the
/// first extension in load order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "register_command", "name": "weather", "description": "current weather for a city"}
]))]
#[non_exhaustive]
pub struct RegisterCommand {
    /// The command's name, without the leading `/` and without whitespace. Case-insensitive.
    #[new(into)]
    #[schemars(regex(pattern = pattern::COMMAND_NAME))]
    pub name: String,
    /// A one-line description for the completion popup and `/help`. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The user ran one of this extension's commands. Reply with `command_response` within 60 s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "command_invoked", "id": "c1", "name": "weather", "args": "berlin"}
]))]
#[non_exhaustive]
pub struct CommandInvoked {
    /// The ID of this request. Copy it into the response.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// The command's name, as registered.
    #[new(into)]
    pub name: String,
    /// The text that the user typed after the name, trimmed. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub args: String,
}

/// What the host does with the reply to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Action {
    /// Submits `prompt` as a new user message.
    Prompt,
    /// Inserts `insert` into the editor at the cursor.
    Insert,
    /// Shows `display` once in the chat, without calling the model or adding it to the transcript.
    Display,
    /// Does nothing: the extension has handled the command.
    #[default]
    Noop,
    /// Opens the panel described by `open_panel`.
    OpenPanel,
}

/// The reply to `command_invoked`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(transform = panel_where_the_action_needs_it, extend("examples" = [
    {"type": "command_response", "id": "c1", "action": "prompt", "prompt": "Show today's weather for Berlin in one line."},
    {"type": "command_response", "id": "c2", "action": "display", "display": "Berlin: 16 °C, fog"},
    {"type": "command_response", "id": "c3", "action": "open_panel", "open_panel": {"id": "p1", "title": "Weather"}},
    {"type": "command_response", "id": "c4", "error": "no such city"}
]))]
#[non_exhaustive]
pub struct CommandResponse {
    /// The `id` of the `command_invoked`.
    #[new(into)]
    pub id: Id,
    /// What the host should do. Absent: `noop`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// With `action: "prompt"`: the text to submit. Blank or absent: nothing is submitted.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// With `action: "insert"`: the text to insert. Absent: `""`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// With `action: "display"`: the text to show. Absent: `""`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// The panel to open; required with `action: "open_panel"`. Absent: no panel.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<Panel>,
    /// An error message, shown as a red status line instead of performing the action. Empty or
    /// absent: no error.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Requires `open_panel` if the action is `open_panel`. The Rust types cannot express that.
fn panel_where_the_action_needs_it(schema: &mut Schema) {
    schema.insert(
        "if".into(),
        serde_json::json!({
            "properties": { "action": { "const": "open_panel" } },
            "required": ["action"],
        }),
    );
    schema.insert(
        "then".into(),
        serde_json::json!({
            "properties": { "open_panel": { "type": "object" } },
            "required": ["open_panel"],
        }),
    );
}

/// Queues a prompt as if the user had sent it. Only interactive hosts support this frame; others
/// ignore it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "submit", "text": "Run the tests again."}]))]
#[non_exhaustive]
pub struct Submit {
    /// The prompt. Blank or absent: nothing is queued.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}
