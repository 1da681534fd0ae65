//! Where the user writes.

pub(crate) mod files;
pub(crate) mod history;

use ratatui::{
    crossterm::event::{KeyCode, KeyEvent},
    text::Line,
};

use self::{files::Token, history::History};
use crate::tui::theme::Theme;

/// What a key meant to the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The user is done: what was written, chips expanded. The editor is empty and the history has it.
    Submit(String),
    /// The text or the cursor may have changed.
    Done,
    /// Not a key of the editor's. Nothing has changed.
    Ignored,
}

/// A text of several lines, a cursor in it, and what was written before.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    secret: bool,
    pub(crate) history: History,
}

impl Editor {
    /// For a key or a password: one line, shown as dots, that neither the history nor the undo keeps.
    pub(crate) fn secret() -> Self {
        Self {
            secret: true,
            ..Self::default()
        }
    }

    /// Does what a key means.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Outcome {
        match key.code {
            KeyCode::Char(char) => {
                self.text.push(char);
                Outcome::Done
            }
            KeyCode::Enter => Outcome::Submit(std::mem::take(&mut self.text)),
            _ => Outcome::Ignored,
        }
    }

    /// Takes a paste of the terminal's: many lines become one chip.
    pub(crate) fn paste(&mut self, text: &str) {
        self.insert(text);
    }

    /// Writes at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// What is written, chips expanded.
    pub(crate) fn text(&self) -> String {
        self.text.clone()
    }

    /// Writes something else; the cursor is at its end. Can be undone.
    pub(crate) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
    }

    /// Empties it. Can be undone.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// How many rows it takes at this width.
    pub(crate) fn height(&self, _width: u16) -> u16 {
        1
    }

    /// The rows that fit into the height, the one with the cursor among them, and the cursor's place in them: column, row.
    pub(crate) fn lines(
        &self,
        width: u16,
        _height: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, (u16, u16)) {
        (super::text::plain(&self.text, width, theme.text), (0, 0))
    }

    /// The `@…` that the cursor is in or behind.
    pub(crate) fn file_token(&self) -> Option<Token> {
        None
    }

    /// Writes a file's path, and a space, in the place of a token.
    pub(crate) fn complete_file(&mut self, token: &Token, path: &str) {
        self.text.replace_range(token.range.clone(), path);
    }
}
