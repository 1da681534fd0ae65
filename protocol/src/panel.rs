//! Panels: a few lines that an extension draws and the keys that it gets.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::integer::integer;
use crate::{
    PanelId,
    absent::{is_false, or_default},
    open_set::open_set,
};

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Panel {
    /// Chosen by the extension; later frames name the panel by it.
    #[new(into)]
    pub id: PanelId,
    /// The heading. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The body, one text per line; longer lines are cut. Absent: empty.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub lines: Vec<String>,
    /// A muted last line, such as a list of keys. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
    /// Esc is sent as a key instead of closing the panel; a second Esc within 500 ms closes it. Absent: false.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub capture_esc: bool,
}

/// Opens a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{
    "type": "open_panel",
    "panel": {"id": "todo", "title": "To do", "lines": ["[ ] buy milk"], "footer": "a add · esc close"}
}]))]
#[non_exhaustive]
pub struct OpenPanel {
    /// The panel.
    pub panel: Panel,
}

/// Draws an open panel anew. What is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "panel_render", "panel_id": "todo", "lines": ["[x] buy milk"]}
]))]
#[non_exhaustive]
pub struct PanelRender {
    /// The panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// The new heading. Absent: as it was.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new body. Absent: as it was.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// The new last line. Absent: as it was.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
}

/// Closes a panel. From the extension: close it. From the host: the user has closed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "panel_close", "panel_id": "todo"}]))]
#[non_exhaustive]
pub struct PanelClose {
    /// The panel.
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
        /// Escape, for a panel with `capture_esc`.
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
        /// Typed text, which is in `text`.
        "rune" => Rune,
    }
}

/// The user pressed a key in an open panel. Keys arrive in the order typed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [
    {"type": "panel_key", "panel_id": "todo", "key": "rune", "text": "a"},
    {"type": "panel_key", "panel_id": "todo", "key": "enter"}
]))]
#[non_exhaustive]
pub struct PanelKey {
    /// The panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// The key.
    pub key: Key,
    /// With `rune`: what was typed. Absent with every other key.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The room that a panel has, once after it was opened and whenever it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
#[schemars(extend("examples" = [{"type": "panel_resize", "panel_id": "todo", "width": 80, "height": 12}]))]
#[non_exhaustive]
pub struct PanelResize {
    /// The panel.
    #[new(into)]
    pub panel_id: PanelId,
    /// Columns for a line of the body.
    #[serde(deserialize_with = "integer")]
    pub width: u32,
    /// Lines of the body that are visible.
    #[serde(deserialize_with = "integer")]
    pub height: u32,
}
