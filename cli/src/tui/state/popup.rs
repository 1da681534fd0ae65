//! Completions at the cursor: commands after `/`, files after `@`.

use clap::ValueEnum;

use super::State;
use crate::tui::{
    builtin::Builtin,
    editor::files::{FileMatch, Token},
};

/// Maximum number of files to offer.
const MAX_FILES: usize = 8;

/// The popup below the editor.
#[derive(Debug, Default)]
pub(crate) struct Popup {
    pub(crate) rows: Vec<PopupRow>,
    /// The index of the selected row among the selectable rows.
    pub(crate) selected: usize,
    /// Whether the user has moved the selection.
    moved: bool,
    /// The text for which the user has closed the popup.
    dismissed: Option<String>,
    /// The text that the rows were computed for.
    text: String,
    /// Whether the file index is still growing.
    pub(crate) is_searching: bool,
    token: Option<Token>,
}

/// A popup row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PopupRow {
    Builtin(Builtin),
    /// The extension that provides the commands below.
    Divider(String),
    Command {
        name: String,
        description: String,
    },
    File(FileMatch),
}

impl PopupRow {
    fn can_be_chosen(&self) -> bool {
        !matches!(self, Self::Divider(_))
    }

    /// Reports whether this row is the command called `typed`.
    fn is_named(&self, typed: &str) -> bool {
        match self {
            Self::Builtin(builtin) => builtin.name().eq_ignore_ascii_case(typed),
            Self::Command { name, .. } => name.eq_ignore_ascii_case(typed),
            Self::Divider(_) | Self::File(_) => false,
        }
    }
}

impl Popup {
    pub(crate) fn is_open(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Returns the selected row.
    pub(crate) fn chosen(&self) -> Option<&PopupRow> {
        self.rows
            .iter()
            .filter(|row| row.can_be_chosen())
            .nth(self.selected)
    }

    /// Returns the index of the selected row among all rows.
    pub(crate) fn at(&self) -> usize {
        let chosen = self.rows.iter().enumerate();
        let mut chosen = chosen.filter(|(_, row)| row.can_be_chosen());
        chosen.nth(self.selected).map_or(0, |(at, _)| at)
    }

    /// Reports whether the user has typed a whole path and has not moved the selection. If so,
    /// Enter sends the text.
    pub(crate) fn is_path_complete(&self) -> bool {
        let Some(query) = self.token.as_ref().map(|token| &*token.query) else {
            return false;
        };
        let whole = query.trim_end_matches('/');
        let is_whole = |row: &PopupRow| match row {
            PopupRow::File(file) => file.path.trim_end_matches('/') == whole,
            _ => false,
        };
        // After a trailing slash, the popup lists the directory's entries, so no row matches.
        !self.moved && !whole.is_empty() && (query.ends_with('/') || self.rows.iter().any(is_whole))
    }

    pub(crate) fn step(&mut self, by: isize) {
        self.moved = true;
        let count = self.rows.iter().filter(|row| row.can_be_chosen()).count();
        self.selected = super::picker::step_wrapping(self.selected, by, count);
    }

    /// Returns the `@…` token being completed.
    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Closes the popup until the text changes.
    pub(crate) fn dismiss(&mut self, text: String) {
        self.rows.clear();
        self.dismissed = Some(text);
    }
}

impl State {
    /// Recomputes the completions after the text has changed.
    pub(crate) fn refresh_popup(&mut self) {
        let text = self.editor.text();
        if self.popup.dismissed.as_ref() == Some(&text) {
            return;
        }
        self.popup.dismissed = None;
        self.popup.token = None;
        self.popup.is_searching = false;
        let command = command_of(&text);
        let rows = match command {
            Some(typed) => command_rows(&self.commands, typed),
            None => self.file_rows(),
        };
        if rows != self.popup.rows || text != self.popup.text {
            // If the user has typed a command's whole name, select that command.
            let mut chosen = rows.iter().filter(|row| row.can_be_chosen());
            let whole = command.and_then(|typed| chosen.position(|row| row.is_named(typed)));
            self.popup.selected = whole.unwrap_or(0);
            self.popup.moved = false;
            self.popup.rows = rows;
        }
        self.popup.text = text;
    }

    fn file_rows(&mut self) -> Vec<PopupRow> {
        let Some(token) = self.editor.file_token() else {
            return Vec::new();
        };
        let Some(files) = &mut self.files else {
            return Vec::new();
        };
        // Read this before searching, so that files found in the meantime appear on the next
        // refresh.
        self.popup.is_searching = files.is_searching();
        let found = files.find(&token.query, MAX_FILES);
        self.popup.token = Some(token);
        found.into_iter().map(PopupRow::File).collect()
    }
}

/// Returns the text after the slash while it can still be a command name.
fn command_of(text: &str) -> Option<&str> {
    let typed = text.strip_prefix('/')?;
    (!typed.contains(char::is_whitespace)).then_some(typed)
}

fn command_rows(commands: &[super::Command], typed: &str) -> Vec<PopupRow> {
    let typed = typed.to_lowercase();
    let fits = |name: &str| name.to_lowercase().starts_with(&typed);
    let builtins = Builtin::value_variants().iter().copied();
    let builtins = builtins.filter(|it| fits(it.name()));
    let mut rows: Vec<PopupRow> = builtins.map(PopupRow::Builtin).collect();
    let mut before: Option<&str> = None;
    for command in commands.iter().filter(|it| fits(&it.name)) {
        if before != Some(&command.extension) {
            rows.push(PopupRow::Divider(command.extension.clone()));
            before = Some(&command.extension);
        }
        rows.push(PopupRow::Command {
            name: command.name.clone(),
            description: command.description.clone(),
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{super::Command, *};

    #[test]
    fn commands_are_grouped_by_extension() {
        let command = |name: &str, extension: &str| Command {
            name: name.to_owned(),
            description: String::new(),
            extension: extension.to_owned(),
        };
        let commands = [
            command("echo", "a"),
            command("exercise", "a"),
            command("ex", "b"),
        ];
        let rows = command_rows(&commands, "ex");
        let shown: Vec<String> = rows
            .iter()
            .map(|row| match row {
                PopupRow::Builtin(builtin) => builtin.name().to_owned(),
                PopupRow::Divider(extension) => format!("-- {extension}"),
                PopupRow::Command { name, .. } => name.clone(),
                PopupRow::File(_) => unreachable!("command rows contain no files"),
            })
            .collect();
        assert_eq!(
            shown,
            ["export", "ext", "exit", "-- a", "exercise", "-- b", "ex"]
        );
    }

    #[test]
    fn a_command_name_ends_at_whitespace() {
        assert_eq!(command_of("/mo"), Some("mo"));
        assert_eq!(command_of("/model x"), None);
        assert_eq!(command_of("a /b"), None);
    }
}
