//! The prompt editor: multi-line text with shell key bindings, a history, and chips for long
//! pastes.

mod buffer;
mod chips;
pub(crate) mod files;
pub(crate) mod history;
mod images;
mod keys;
mod view;

use std::{cell::Cell, fmt, path::PathBuf};

use ratatui::{crossterm::event::KeyEvent, text::Line};

use self::{
    buffer::{Motion, TextBuffer},
    chips::{Chips, is_chip, normalise_line_endings, sanitise},
    files::Token,
    history::History,
    keys::EditorAction,
    view::View,
};
use crate::tui::theme::Theme;

/// What the editor did with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The user submitted the text, with chips expanded. The text is now in the history, and the
    /// editor is empty.
    Submit(String),
    /// The text or the cursor may have changed.
    Done,
    /// The editor does not handle this key. Nothing has changed.
    Ignored,
}

/// Editable text with a cursor, and the history of earlier prompts.
#[derive(Default)]
pub(crate) struct Editor {
    buffer: TextBuffer,
    chips: Chips,
    is_secret: bool,
    /// The column to return to when moving up or down across shorter rows.
    goal: Option<usize>,
    drawn: Cell<Drawn>,
    /// Earlier prompts. The owner of the editor loads and stores the history file.
    pub(crate) history: History,
}

/// The layout of the last frame. The up and down keys move by its rows, and scrolling starts from
/// its position.
#[derive(Debug, Clone, Copy, Default)]
struct Drawn {
    width: u16,
    top: usize,
}

// Omits the text, which may be a secret.
impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// Creates an editor for a secret: one line, shown as dots, without history or undo.
    pub(crate) fn secret() -> Self {
        Self {
            is_secret: true,
            ..Self::default()
        }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Outcome {
        let Some(action) = keys::action(key) else {
            return Outcome::Ignored;
        };
        let goal = self.goal.take();
        match action {
            EditorAction::Write(char) => {
                self.buffer.insert(&sanitise(char.encode_utf8(&mut [0; 4])));
            }
            EditorAction::Enter => return self.enter(),
            EditorAction::NewLine if self.is_secret => return Outcome::Ignored,
            EditorAction::NewLine => self.buffer.insert("\n"),
            EditorAction::Go(to) => self.buffer.step(to),
            EditorAction::Up => self.move_vertically(goal, -1),
            EditorAction::Down => self.move_vertically(goal, 1),
            EditorAction::Delete(to) => self.buffer.delete(to),
            EditorAction::DeleteOrExit if self.is_empty() => return Outcome::Ignored,
            EditorAction::DeleteOrExit => self.buffer.delete(Motion::Right),
            EditorAction::Cut(to) if self.is_secret => self.buffer.delete(to),
            EditorAction::Cut(to) => self.buffer.cut(to),
            EditorAction::Yank => self.buffer.yank(),
            EditorAction::Undo if self.is_secret => {}
            EditorAction::Undo => self.buffer.undo(),
        }
        Outcome::Done
    }

    /// Inserts pasted text. A long paste becomes one chip, as does the path of an image.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = normalise_line_endings(text);
        if self.is_secret {
            // A copied API key often ends with a line break.
            self.buffer
                .insert(&sanitise(text.trim()).replace(['\n', '\t'], ""));
            return;
        }
        if let Some(images) = images::pasted(&text) {
            for image in images {
                let chip = self.chips.insert_image(image);
                self.buffer.insert(&format!("{chip} "));
            }
            return;
        }
        let written = self.chips.insert_paste(&text);
        if !written.is_empty() {
            self.buffer.insert(&written);
        }
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        self.buffer.insert(&sanitise(text));
    }

    /// Returns the text with chips expanded.
    pub(crate) fn text(&self) -> String {
        self.chips.expanded(self.buffer.text())
    }

    /// Returns the images whose chips are in the text. The user has pasted or dropped them.
    pub(crate) fn pasted_images(&self) -> Vec<PathBuf> {
        self.chips.images(self.buffer.text())
    }

    /// Returns the images that the text refers to with `@`, except in chips.
    pub(crate) fn mentioned_images(&self) -> Vec<PathBuf> {
        images::mentioned(self.buffer.text())
    }

    /// Returns the text without expanding its chips, so it is short even if a paste was long.
    pub(crate) fn written(&self) -> &str {
        self.buffer.text()
    }

    /// Reports whether the text contains a chip, which hides a part of it from the user.
    pub(crate) fn has_chips(&self) -> bool {
        self.buffer.text().contains(is_chip)
    }

    /// Reports whether the text begins with a chip.
    pub(crate) fn begins_with_chip(&self) -> bool {
        self.buffer.text().starts_with(is_chip)
    }

    /// Replaces the text and moves the cursor to its end. The user can undo this.
    pub(crate) fn set(&mut self, text: &str) {
        self.history.stop_browsing();
        self.buffer.set(self.chips.restore(text));
    }

    /// Inserts lines before the text, and moves the cursor to the end. The user can undo this.
    pub(crate) fn prepend(&mut self, lines: &str) {
        if self.is_empty() {
            return self.set(lines);
        }
        self.history.stop_browsing();
        let text = self.buffer.text();
        let lines = self.chips.restore(lines);
        self.buffer.set(format!("{lines}\n{text}"));
    }

    /// Clears the text. The user can undo this.
    pub(crate) fn clear(&mut self) {
        if !self.is_empty() {
            self.set("");
        }
    }

    /// Reports whether the text is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// Returns the visible rows, including the one with the cursor, and the cursor's position
    /// (column, row) within them.
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

    /// Returns the `@…` token at or before the cursor.
    pub(crate) fn file_token(&self) -> Option<Token> {
        Token::at(self.buffer.text(), self.buffer.cursor())
    }

    /// Replaces a token with a path. Adds a space after a file, but not after a directory.
    pub(crate) fn complete_file(&mut self, token: &Token, path: &str) {
        let written = sanitise(&Token::for_path(path));
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
            self.buffer.delete(Motion::Left);
            self.buffer.insert("\n");
            return Outcome::Done;
        }
        if self.buffer.text().trim().is_empty() {
            return Outcome::Ignored;
        }
        let text = self.chips.submit(self.buffer.take());
        if !self.is_secret {
            self.history.push(&text);
        }
        Outcome::Submit(text)
    }

    /// Moves to the row above or below. From the first or last row, moves through the history.
    fn move_vertically(&mut self, goal: Option<usize>, by: isize) {
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
                        self.buffer.set(self.chips.restore(&entry));
                    }
                    None => self.buffer.step(if by < 0 {
                        Motion::LineStart
                    } else {
                        Motion::LineEnd
                    }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
