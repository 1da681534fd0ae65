//! Slash commands: `register_command`, `command_invoked`, `command_response`; and `submit`.

use derive_new::new;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::{Id, Panel, absent::or_default, pattern};

/// Offers the slash command `/name` to the user. A built-in of that name wins, then the first extension in load
/// order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "register_command", "name": "weather", "description": "current weather for a city"}
]))]
#[non_exhaustive]
pub struct RegisterCommand {
    /// What the user types after the slash: no leading `/`, no white space. Compared without regard to case.
    #[new(into)]
    #[schemars(regex(pattern = pattern::COMMAND_NAME))]
    pub name: String,
    /// One line for the completion popup and `/help`. Absent: none is shown.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The user ran a command of this extension. Answer with `command_response`, within 60 s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "command_invoked", "id": "c1", "name": "weather", "args": "berlin"}
]))]
#[non_exhaustive]
pub struct CommandInvoked {
    /// To be echoed in the response.
    #[new(into)]
    #[schemars(regex(pattern = pattern::HOST_ID))]
    pub id: Id,
    /// The command, as it was registered.
    #[new(into)]
    pub name: String,
    /// All that the user typed after the name, trimmed; `""` when there was nothing. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub args: String,
}

/// What the host does with the answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Action {
    /// Submits `prompt` as a fresh user message.
    Prompt,
    /// Puts `insert` into the editor at the cursor.
    Insert,
    /// Shows `display` once in the chat; no model call, not in the transcript.
    Display,
    /// Changes nothing: the extension has dealt with it.
    #[default]
    Noop,
    /// Opens the panel `open_panel`.
    OpenPanel,
}

/// The answer to `command_invoked`.
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
    /// What the host does. Absent: `noop`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// With `action: "prompt"`: the text to submit. Blank or absent: nothing is submitted.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// With `action: "insert"`: the text for the editor. Absent: `""`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// With `action: "display"`: the text to show. Absent: `""`.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// With `action: "open_panel"`: the panel to open; required then.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<Panel>,
    /// Not empty: shown as a red status line in place of the action. Absent: no error.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The types cannot say that one field's value makes another one required; the schema can.
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

/// Queues a user prompt in an interactive host; other hosts ignore it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "submit", "text": "Run the tests again."}]))]
#[non_exhaustive]
pub struct Submit {
    /// The prompt. Blank or absent: nothing happens.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}
