//! One-line notes for the user: `notify`, `clear_notes`.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::or_default;

/// The severity of a note, which sets its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum NoteLevel {
    /// Neutral information.
    Info,
    /// An operation succeeded.
    Success,
    /// The user should look at this.
    Warn,
    /// An operation failed.
    Error,
}

/// Shows one line to the user, prefixed with the extension's name in brackets. It disappears when
/// the user sends the next prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "notify", "level": "info", "message": "refreshed cache (12 entries)"}
]))]
#[non_exhaustive]
pub struct Notify {
    /// The severity of the note.
    pub level: NoteLevel,
    /// The line to show. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// Removes all of this extension's notes. Other extensions' notes stay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "clear_notes"}]))]
#[non_exhaustive]
pub struct ClearNotes {}
