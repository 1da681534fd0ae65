//! What is finished: said, done, told.

use ratatui::text::Line;
use zot_protocol::{Object, ToolStatus};

/// Something that goes into the terminal's scrollback.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// What the program is, first of all.
    Banner(Vec<String>),
    /// What the user said.
    User(String),
    /// A whole text of the model.
    Answer(String),
    /// Lines of a text of the model that still arrives. `first`: they begin it.
    Streamed {
        lines: Vec<Line<'static>>,
        first: bool,
    },
    /// A tool that has run.
    Ran(Ran),
    /// All of a result that was shown in part.
    Whole(Ran),
    /// What an extension's command has to show.
    Display { extension: String, text: String },
    /// What the program has to say.
    Told { level: Level, text: String },
    /// A heading and lines in two columns.
    Listing {
        title: String,
        rows: Vec<(String, String)>,
    },
    /// What was said before, in summary.
    Summary(String),
    /// Where a conversation begins or goes on.
    Divider(String),
}

/// How something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Muted,
    Done,
    Warning,
    Error,
}

/// A tool that has run.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) name: String,
    pub(crate) args: Object,
    pub(crate) extension: Option<String>,
    pub(crate) status: ToolStatus,
    /// Its text, cleaned.
    pub(crate) text: String,
    /// Images, as lines that name them.
    pub(crate) images: Vec<String>,
}

impl Ran {
    /// How many lines of it are shown at first.
    pub(crate) fn limit(&self) -> usize {
        match self.name.as_str() {
            // The user has the file.
            "read" | "skill" if self.extension.is_none() => 1,
            "edit" if self.extension.is_none() => 24,
            _ => 6,
        }
    }

    /// Whether there is more of it.
    pub(crate) fn is_folded(&self) -> bool {
        self.text.lines().nth(self.limit()).is_some()
    }
}
