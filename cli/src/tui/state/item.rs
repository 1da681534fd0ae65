//! Finished transcript items.

use ratatui::text::Line;
use zot_protocol::{Object, ToolStatus};

/// An item that is printed into the terminal's scrollback.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// The lines shown at startup.
    Banner(Vec<String>),
    /// A prompt from the user.
    User(String),
    /// Complete text from the model.
    Answer(String),
    /// Lines of text that the model is still writing. `first` marks the beginning of the text.
    Streamed {
        lines: Vec<Line<'static>>,
        first: bool,
    },
    /// A finished tool call, folded if it is long.
    Tool(FinishedCall),
    /// A finished tool call in full.
    ToolUnfolded(FinishedCall),
    /// The output of an extension command.
    Display { extension: String, text: String },
    /// A notice from zot.
    Notice { level: Level, text: String },
    /// A heading and rows with two columns.
    Listing {
        title: String,
        rows: Vec<(String, String)>,
    },
    /// The summary that replaces a compacted conversation.
    Summary(String),
    /// A line that marks where a conversation starts or continues.
    Divider(String),
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Muted,
    Done,
    Warning,
    Error,
}

/// A finished tool call.
#[derive(Debug, Clone)]
pub(crate) struct FinishedCall {
    pub(crate) name: String,
    pub(crate) args: Object,
    pub(crate) extension: Option<String>,
    pub(crate) status: ToolStatus,
    /// The output, sanitised.
    pub(crate) text: String,
    /// One line for each image.
    pub(crate) images: Vec<String>,
}

impl FinishedCall {
    /// Returns the number of lines shown when folded.
    pub(crate) fn limit(&self) -> usize {
        match self.name.as_str() {
            // The user has the file, so one line is enough.
            "read" | "skill" if self.extension.is_none() => 1,
            "edit" if self.extension.is_none() => 24,
            _ => 6,
        }
    }

    /// Reports whether the output is longer than the limit.
    pub(crate) fn is_folded(&self) -> bool {
        self.text.lines().nth(self.limit()).is_some()
    }
}
