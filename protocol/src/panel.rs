//! Panels: lines of text that an extension draws, and the key presses it receives.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{
    PanelId,
    absent::{is_false, or_default},
    open_set::open_set,
};

/// The contents of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Panel {
    /// The panel's ID, chosen by the extension. Later frames use it to refer to the panel.
    #[new(into)]
    pub id: PanelId,
    /// The title. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The body, one string per line; long lines are truncated. Absent: empty.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// A muted last line, such as a list of keys. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
    /// Whether Esc is sent to the extension as a key instead of closing the panel. A second Esc
    /// within 500 ms closes it anyway. Absent: false.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub capture_esc: bool,
}

/// Opens a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{
    "type": "open_panel",
    "panel": {"id": "todo", "title": "To do", "lines": ["[ ] buy milk"], "footer": "a add · esc close"}
}]))]
#[non_exhaustive]
pub struct OpenPanel {
    /// The panel to open.
    pub panel: Panel,
}

/// Redraws an open panel. Absent fields are unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "panel_render", "panel_id": "todo", "lines": ["[x] buy milk"]}
]))]
#[non_exhaustive]
pub struct PanelRender {
    /// The ID of the panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// The new title. Absent: unchanged.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new body. Absent: unchanged.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// The new last line. Absent: unchanged.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
}

/// Closes a panel. The extension sends it to close the panel; the host sends it when the user has
/// closed the panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "panel_close", "panel_id": "todo"}]))]
#[non_exhaustive]
pub struct PanelClose {
    /// The ID of the panel.
    #[new(into)]
    pub panel_id: PanelId,
}

open_set! {
    /// A key pressed in a panel.
    pub enum Key {
        /// Cursor up.
        "up" => Up,
        /// Cursor down.
        "down" => Down,
        /// Cursor left.
        "left" => Left,
        /// Cursor right.
        "right" => Right,
        /// Enter.
        "enter" => Enter,
        /// Escape, in a panel with `capture_esc`.
        "esc" => Esc,
        /// Tab.
        "tab" => Tab,
        /// Page up.
        "pageup" => PageUp,
        /// Page down.
        "pagedown" => PageDown,
        /// Home.
        "home" => Home,
        /// End.
        "end" => End,
        /// Backspace.
        "backspace" => Backspace,
        /// Delete.
        "delete" => Delete,
        /// Typed text, given in `text`.
        "rune" => Rune,
    }
}

/// The user pressed a key in an open panel. Keys arrive in the order they were typed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "panel_key", "panel_id": "todo", "key": "rune", "text": "a"},
    {"type": "panel_key", "panel_id": "todo", "key": "enter"}
]))]
#[non_exhaustive]
pub struct PanelKey {
    /// The ID of the panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// The key that was pressed.
    pub key: Key,
    /// With `rune`: the typed text. Absent for every other key.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The size of a panel, sent once after it opens and again whenever it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [{"type": "panel_resize", "panel_id": "todo", "width": 80, "height": 12}]))]
#[non_exhaustive]
pub struct PanelResize {
    /// The ID of the panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// The width of a body line, in columns.
    #[serde(deserialize_with = "integer")]
    pub width: u32,
    /// The number of visible body lines.
    #[serde(deserialize_with = "integer")]
    pub height: u32,
}
