//! Text with a cursor, and the editing operations on it.

use std::mem;

use super::chips::is_chip;
use crate::tui::text::clusters;

/// Maximum number of undo steps.
const MAX_UNDO: usize = 200;

/// Text with a cursor between two characters.
#[derive(Clone, Default)]
pub(super) struct TextBuffer {
    text: String,
    /// A byte offset, always on a character boundary.
    cursor: usize,
    /// The most recently cut text.
    cut: String,
    undo_steps: Vec<(String, usize)>,
    last: Edit,
}

/// A kind of change. Consecutive changes of the same kind, except [`Edit::Other`], form one undo
/// step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Edit {
    #[default]
    Other,
    Typing,
    Deleting,
}

/// A cursor movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    /// To the previous whitespace, as in a shell.
    SpaceLeft,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl TextBuffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to an offset.
    pub(super) fn go(&mut self, cursor: usize) {
        self.cursor = self.text.floor_char_boundary(cursor);
        self.last = Edit::Other;
    }

    /// Moves the cursor.
    pub(super) fn step(&mut self, to: Motion) {
        self.go(self.place(to));
    }

    /// Inserts text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        let is_typing = text.chars().count() == 1 && text != " " && text != "\n";
        self.save_undo(if is_typing { Edit::Typing } else { Edit::Other });
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Replaces a range.
    pub(super) fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.save_undo(Edit::Other);
        self.cursor = range.start + text.len();
        self.text.replace_range(range, text);
    }

    /// Deletes the text between the cursor and the target of a movement.
    pub(super) fn delete(&mut self, to: Motion) {
        let range = self.range(to);
        if !range.is_empty() {
            self.save_undo(Edit::Deleting);
            self.cursor = range.start;
            self.text.replace_range(range, "");
        }
    }

    /// Like [`TextBuffer::delete`], but keeps the text for [`TextBuffer::yank`].
    pub(super) fn cut(&mut self, to: Motion) {
        let mut range = self.range(to);
        if range.is_empty() && to == Motion::LineEnd && range.end < self.text.len() {
            range.end += 1;
        }
        if !range.is_empty() {
            self.save_undo(Edit::Other);
            self.cursor = range.start;
            self.cut = self.text.drain(range).collect();
        }
    }

    /// Inserts the most recently cut text.
    pub(super) fn yank(&mut self) {
        let cut = mem::take(&mut self.cut);
        if !cut.is_empty() {
            self.insert(&cut);
        }
        self.cut = cut;
    }

    /// Replaces the text and moves the cursor to its end.
    pub(super) fn set(&mut self, text: String) {
        self.save_undo(Edit::Other);
        self.cursor = text.len();
        self.text = text;
    }

    /// Takes the text and resets everything except the cut text.
    pub(super) fn take(&mut self) -> String {
        self.undo_steps.clear();
        self.last = Edit::Other;
        self.cursor = 0;
        mem::take(&mut self.text)
    }

    pub(super) fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo_steps.pop() {
            self.text = text;
            self.cursor = cursor;
        }
        self.last = Edit::Other;
    }

    /// Saves an undo step before a change, unless the change continues the last one.
    fn save_undo(&mut self, edit: Edit) {
        if edit == Edit::Other || edit != self.last {
            if self.undo_steps.len() == MAX_UNDO {
                self.undo_steps.remove(0);
            }
            self.undo_steps.push((self.text.clone(), self.cursor));
        }
        self.last = edit;
    }

    fn range(&self, to: Motion) -> std::ops::Range<usize> {
        let place = self.place(to);
        self.cursor.min(place)..self.cursor.max(place)
    }

    fn place(&self, to: Motion) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match to {
            Motion::Left => last_cluster(before),
            Motion::Right => {
                self.cursor + clusters(after).next().map_or(0, |(_, text, _)| text.len())
            }
            Motion::WordLeft => {
                let word = before.trim_end_matches(|it| !is_word(it));
                start_of_word(word, is_word)
            }
            Motion::WordRight => {
                let word = after.trim_start_matches(|it| !is_word(it));
                let rest = if word.starts_with(is_chip) {
                    &word[word.chars().next().map_or(0, char::len_utf8)..]
                } else {
                    word.trim_start_matches(|it| is_word(it) && !is_chip(it))
                };
                self.text.len() - rest.len()
            }
            Motion::SpaceLeft => start_of_word(before.trim_end(), |it| !it.is_whitespace()),
            Motion::LineStart => before.rfind('\n').map_or(0, |end| end + 1),
            Motion::LineEnd => self.cursor + after.find('\n').unwrap_or(after.len()),
            Motion::Start => 0,
            Motion::End => self.text.len(),
        }
    }
}

/// Returns the start of the last grapheme.
fn last_cluster(text: &str) -> usize {
    // Looking at one line is enough, and keeps editing fast when the text is long.
    let line = text.rfind('\n').unwrap_or(0);
    clusters(&text[line..])
        .last()
        .map_or(0, |(at, _, _)| line + at)
}

fn start_of_word(text: &str, is_word: impl Fn(char) -> bool) -> usize {
    match text.chars().next_back() {
        Some(mark) if is_chip(mark) => text.len() - mark.len_utf8(),
        _ => text
            .trim_end_matches(|it| is_word(it) && !is_chip(it))
            .len(),
    }
}

/// Reports whether a character belongs to a word. Each chip counts as a separate word.
fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || is_chip(char)
}
