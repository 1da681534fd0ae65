//! What can be completed at the cursor: commands behind a `/`, files behind an `@`.

use super::State;
use crate::tui::{
    builtin::Builtin,
    editor::files::{Match, Token},
};

/// So many files are offered.
const FILES: usize = 8;

/// The popup below the editor.
#[derive(Debug, Default)]
pub(crate) struct Popup {
    pub(crate) rows: Vec<Row>,
    /// Among those that can be chosen.
    pub(crate) selected: usize,
    /// The text for which the user did not want it.
    dismissed: Option<String>,
    /// The text that it is for.
    text: String,
    /// Whether more files may be found.
    pub(crate) is_looking: bool,
    token: Option<Token>,
}

/// A row of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Builtin(Builtin),
    /// The extension that the commands below are of.
    Divider(String),
    Command {
        name: String,
        description: String,
    },
    File(Match),
}

impl Row {
    fn can_be_chosen(&self) -> bool {
        !matches!(self, Self::Divider(_))
    }

    /// Whether it is the command of this name.
    fn is(&self, typed: &str) -> bool {
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

    /// The chosen row.
    pub(crate) fn chosen(&self) -> Option<&Row> {
        self.rows
            .iter()
            .filter(|row| row.can_be_chosen())
            .nth(self.selected)
    }

    /// Where the chosen row is among all.
    pub(crate) fn at(&self) -> usize {
        let chosen = self.rows.iter().enumerate();
        let mut chosen = chosen.filter(|(_, row)| row.can_be_chosen());
        chosen.nth(self.selected).map_or(0, |(at, _)| at)
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = self.rows.iter().filter(|row| row.can_be_chosen()).count();
        self.selected = super::picker::around(self.selected, by, count);
    }

    /// The `@…` that is completed.
    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Goes until the text is another one.
    pub(crate) fn dismiss(&mut self, text: String) {
        self.rows.clear();
        self.dismissed = Some(text);
    }
}

impl State {
    /// Looks what can be completed, after the text has changed.
    pub(crate) fn refresh_popup(&mut self) {
        let text = self.editor.text();
        if self.popup.dismissed.as_ref() == Some(&text) {
            return;
        }
        self.popup.dismissed = None;
        self.popup.token = None;
        self.popup.is_looking = false;
        let command = command_of(&text);
        let rows = match command {
            Some(typed) => command_rows(&self.commands, typed),
            None => self.file_rows(),
        };
        if rows != self.popup.rows || text != self.popup.text {
            // Whoever has written a whole name means that one.
            let mut chosen = rows.iter().filter(|row| row.can_be_chosen());
            let whole = command.and_then(|typed| chosen.position(|row| row.is(typed)));
            self.popup.selected = whole.unwrap_or(0);
            self.popup.rows = rows;
        }
        self.popup.text = text;
    }

    fn file_rows(&mut self) -> Vec<Row> {
        let Some(token) = self.editor.file_token() else {
            return Vec::new();
        };
        let Some(files) = &mut self.files else {
            return Vec::new();
        };
        // Asked before: what is found in between is found the next time.
        self.popup.is_looking = files.is_looking();
        let found = files.find(&token.query, FILES);
        self.popup.token = Some(token);
        found.into_iter().map(Row::File).collect()
    }
}

/// What is behind the slash, while it can still be a command's name.
fn command_of(text: &str) -> Option<&str> {
    let typed = text.strip_prefix('/')?;
    (!typed.contains(char::is_whitespace)).then_some(typed)
}

fn command_rows(commands: &[super::Command], typed: &str) -> Vec<Row> {
    let typed = typed.to_lowercase();
    let fits = |name: &str| name.to_lowercase().starts_with(&typed);
    let builtins = Builtin::ALL.into_iter().filter(|it| fits(it.name()));
    let mut rows: Vec<Row> = builtins.map(Row::Builtin).collect();
    let mut before: Option<&str> = None;
    for command in commands.iter().filter(|it| fits(&it.name)) {
        if before != Some(&command.extension) {
            rows.push(Row::Divider(command.extension.clone()));
            before = Some(&command.extension);
        }
        rows.push(Row::Command {
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
    fn extensions_stand_under_their_names() {
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
                Row::Builtin(builtin) => builtin.name().to_owned(),
                Row::Divider(extension) => format!("-- {extension}"),
                Row::Command { name, .. } => name.clone(),
                Row::File(_) => unreachable!("no file"),
            })
            .collect();
        assert_eq!(shown, ["ext", "exit", "-- a", "exercise", "-- b", "ex"]);
    }

    #[test]
    fn a_name_ends_with_a_space() {
        assert_eq!(command_of("/mo"), Some("mo"));
        assert_eq!(command_of("/model x"), None);
        assert_eq!(command_of("a /b"), None);
    }
}
