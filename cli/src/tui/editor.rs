//! Where the user writes: a text of several lines with the keys of a shell, its history, and chips for long pastes.

mod buffer;
mod chips;
pub(crate) mod files;
pub(crate) mod history;
mod keys;
mod view;

use std::{cell::Cell, fmt};

use ratatui::{crossterm::event::KeyEvent, text::Line};

use self::{
    buffer::{Buffer, To},
    chips::{Chips, fit_to_write, with_line_ends},
    files::Token,
    history::History,
    keys::Action,
    view::View,
};
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

/// A text, a cursor in it, and what was written before.
#[derive(Default)]
pub(crate) struct Editor {
    buffer: Buffer,
    chips: Chips,
    is_secret: bool,
    /// The column that up and down keep to.
    goal: Option<usize>,
    drawn: Cell<Drawn>,
    /// What was written before. The file is for the owner to load and store.
    pub(crate) history: History,
}

/// What was on the screen last: up and down go by its rows, and it scrolls no more than it must.
#[derive(Debug, Clone, Copy, Default)]
struct Drawn {
    width: u16,
    top: usize,
}

/// What is written may be a secret.
impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// For a key or a password: one line, shown as dots, that neither history nor undo keeps.
    pub(crate) fn secret() -> Self {
        Self {
            is_secret: true,
            ..Self::default()
        }
    }

    /// Does what a key means.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Outcome {
        let Some(action) = keys::action(key) else {
            return Outcome::Ignored;
        };
        let goal = self.goal.take();
        match action {
            Action::Write(char) => self
                .buffer
                .insert(&fit_to_write(char.encode_utf8(&mut [0; 4]))),
            Action::Enter => return self.enter(),
            Action::NewLine if self.is_secret => return Outcome::Ignored,
            Action::NewLine => self.buffer.insert("\n"),
            Action::Go(to) => self.buffer.step(to),
            Action::Up => self.vertically(goal, -1),
            Action::Down => self.vertically(goal, 1),
            Action::Delete(to) => self.buffer.delete(to),
            Action::DeleteOrLeave if self.is_empty() => return Outcome::Ignored,
            Action::DeleteOrLeave => self.buffer.delete(To::Right),
            Action::Cut(to) if self.is_secret => self.buffer.delete(to),
            Action::Cut(to) => self.buffer.cut(to),
            Action::Yank => self.buffer.yank(),
            Action::Undo if self.is_secret => {}
            Action::Undo => self.buffer.undo(),
        }
        Outcome::Done
    }

    /// Takes a paste of the terminal's: many lines become one chip.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = with_line_ends(text);
        if self.is_secret {
            // Whoever copies a key copies the end of its line too.
            self.buffer
                .insert(&fit_to_write(text.trim()).replace(['\n', '\t'], ""));
            return;
        }
        let written = self.chips.written(&text);
        if !written.is_empty() {
            self.buffer.insert(&written);
        }
    }

    /// Writes at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        self.buffer.insert(&fit_to_write(text));
    }

    /// What is written, chips expanded.
    pub(crate) fn text(&self) -> String {
        self.chips.expanded(self.buffer.text())
    }

    /// Writes something else; the cursor is behind it. Can be undone.
    pub(crate) fn set(&mut self, text: &str) {
        self.history.leave();
        self.buffer.set(self.chips.rewritten(text));
    }

    /// Empties it. Can be undone.
    pub(crate) fn clear(&mut self) {
        if !self.is_empty() {
            self.set("");
        }
    }

    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// The rows that fit into the height, the one with the cursor among them, and the cursor's place in them: column, row.
    pub(crate) fn lines(
        &self,
        width: u16,
        height: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, (u16, u16)) {
        let view = self.view(width);
        let (column, row) = view.cursor(self.buffer.cursor());
        let height = usize::from(height).max(1);
        let last_top = view.height().saturating_sub(height);
        let top = self
            .drawn
            .get()
            .top
            .clamp((row + 1).saturating_sub(height), row)
            .min(last_top);
        self.drawn.set(Drawn { width, top });
        let place = |it: usize| u16::try_from(it).unwrap_or(u16::MAX);
        let cursor = (place(column).min(width.saturating_sub(1)), place(row - top));
        (view.lines(top..top + height, theme), cursor)
    }

    /// The `@…` that the cursor is in or behind.
    pub(crate) fn file_token(&self) -> Option<Token> {
        Token::at(self.buffer.text(), self.buffer.cursor())
    }

    /// Writes a file's path in the place of a token; behind a file there is a space, behind a directory more may follow.
    pub(crate) fn complete_file(&mut self, token: &Token, path: &str) {
        let written = fit_to_write(&Token::for_path(path));
        if self.buffer.text().get(token.range.clone()).is_some() {
            self.buffer.replace(token.range.clone(), &written);
        }
    }

    fn view(&self, width: u16) -> View {
        View::of(self.buffer.text(), &self.chips, self.is_secret, width)
    }

    fn enter(&mut self) -> Outcome {
        let before = &self.buffer.text()[..self.buffer.cursor()];
        if before.ends_with('\\') && !self.is_secret {
            self.buffer.delete(To::Left);
            self.buffer.insert("\n");
            return Outcome::Done;
        }
        if self.buffer.text().trim().is_empty() {
            return Outcome::Ignored;
        }
        let text = self.chips.send(self.buffer.take());
        if !self.is_secret {
            self.history.push(&text);
        }
        Outcome::Submit(text)
    }

    /// To the row above or below; beyond the first and the last is what was written before and after.
    fn vertically(&mut self, goal: Option<usize>, by: isize) {
        let view = self.view(self.drawn.get().width);
        let (column, row) = view.cursor(self.buffer.cursor());
        let column = goal.unwrap_or(column);
        match row.checked_add_signed(by) {
            Some(next) if next < view.height() => {
                self.buffer.go(view.place(column, next));
                self.goal = Some(column);
            }
            _ if self.is_secret => {}
            _ => {
                let here = self.text();
                let entry = if by < 0 {
                    self.history.older(here)
                } else {
                    self.history.newer()
                };
                match entry {
                    Some(entry) => {
                        self.buffer.set(self.chips.rewritten(&entry));
                    }
                    None => self
                        .buffer
                        .step(if by < 0 { To::LineStart } else { To::LineEnd }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
