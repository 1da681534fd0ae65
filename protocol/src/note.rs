//! One-line notes to the user: `notify`, `clear_notes`.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::or_default;

/// How a note looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum NoteLevel {
    /// Neutral.
    Info,
    /// Something went well.
    Success,
    /// Something the user should look at.
    Warn,
    /// Something failed.
    Error,
}

/// Shows one line to the user, with the extension's name in brackets. It goes when the user sends the next prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {"type": "notify", "level": "info", "message": "refreshed cache (12 entries)"}
]))]
#[non_exhaustive]
pub struct Notify {
    /// How the note looks.
    pub level: NoteLevel,
    /// The line. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// Takes back every note of this extension; those of others stay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"type": "clear_notes"}]))]
#[non_exhaustive]
pub struct ClearNotes {}
