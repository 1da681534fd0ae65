//! Finished transcript items.

use ratatui::text::Line;
use zot_protocol::{Object, ToolStatus};

use super::{Place, SHELL, Thought};

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
    /// The model's reasoning, folded to one line.
    Thought(Thought),
    /// The model's reasoning in full.
    ThoughtUnfolded(Thought, Option<Place>),
    /// A finished tool call, folded if it is long.
    Tool(FinishedCall),
    /// A finished tool call with its full output.
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
            // The user can open the file, so one line is enough.
            "read" | "skill" if self.extension.is_none() => 1,
            "edit" if self.extension.is_none() => 24,
            // The user ran the command to see its output.
            SHELL if self.extension.is_none() => 40,
            _ => 6,
        }
    }

    /// Returns how a failed command ended, and its output. Returns `None` for a command that
    /// succeeded, and for other tools, whose results begin with the error.
    pub(crate) fn failed_command(&self) -> Option<FailedCommand<'_>> {
        let has_failed = matches!(
            self.status,
            ToolStatus::Failed | ToolStatus::TimedOut | ToolStatus::Cancelled
        );
        let is_command = matches!(self.name.as_str(), "bash" | SHELL) && self.extension.is_none();
        if !is_command || !has_failed {
            return None;
        }
        Some(FailedCommand::parse(&self.text))
    }
}

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedCommand<'c> {
    /// How the command ended, such as `exit status 1`. Empty if the result does not contain this.
    pub(crate) end: &'c str,
    /// The output without the line that says how the command ended.
    pub(crate) output: Vec<&'c str>,
}

impl<'c> FailedCommand<'c> {
    /// Reads the notes that the `bash` tool adds below the output, each in brackets on its own
    /// line. Searches from the end, because the output can contain such lines too.
    fn parse(text: &'c str) -> Self {
        let mut output: Vec<&str> = text.lines().collect();
        let notes = output.iter().rev().take(3);
        let notes = notes.map_while(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let mut ends = notes.enumerate().filter(|(_, note)| {
            let ends = ["exit status ", "killed by ", "exited with "];
            ends.iter().any(|end| note.starts_with(end))
        });
        let Some((at, end)) = ends.next() else {
            return Self { end: "", output };
        };
        output.remove(output.len() - 1 - at);
        Self { end, output }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_is_found_below_the_output() {
        for (text, end, output) in [
            ("a\nb\n[exit status 3]", "exit status 3", vec!["a", "b"]),
            (
                "a\n[exit status 0]\n[killed by SIGTERM]\n[killed background processes: x]",
                "killed by SIGTERM",
                vec!["a", "[exit status 0]", "[killed background processes: x]"],
            ),
            ("[exit status 1]\nb", "", vec!["[exit status 1]", "b"]),
            ("", "", vec![]),
        ] {
            assert_eq!(FailedCommand::parse(text), FailedCommand { end, output });
        }
    }
}
