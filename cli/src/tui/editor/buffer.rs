//! A text, a cursor in it, and what can be done to both.

use std::mem;

use super::chips::is_mark;
use crate::tui::text::clusters;

/// So many steps back are kept.
const MOST_UNDO: usize = 200;

/// What is written, with a cursor between two characters.
#[derive(Clone, Default)]
pub(super) struct Buffer {
    text: String,
    /// A byte of the text, always between what is seen as characters.
    cursor: usize,
    /// What was cut last.
    cut: String,
    before: Vec<(String, usize)>,
    last: Edit,
}

/// What the last change was: changes of one kind in a row are one step of undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Edit {
    #[default]
    Other,
    Typing,
    Deleting,
}

/// Which way, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Left,
    Right,
    WordLeft,
    WordRight,
    /// As a shell has it: whatever is between spaces.
    SpaceLeft,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl Buffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Puts the cursor somewhere.
    pub(super) fn go(&mut self, cursor: usize) {
        self.cursor = self.text.floor_char_boundary(cursor);
        self.last = Edit::Other;
    }

    /// Moves the cursor.
    pub(super) fn step(&mut self, to: To) {
        self.go(self.place(to));
    }

    /// Writes at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        let is_typing = text.chars().count() == 1 && text != " " && text != "\n";
        self.keep(if is_typing { Edit::Typing } else { Edit::Other });
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Writes in the place of something.
    pub(super) fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.keep(Edit::Other);
        self.cursor = range.start + text.len();
        self.text.replace_range(range, text);
    }

    /// Deletes up to somewhere.
    pub(super) fn delete(&mut self, to: To) {
        let range = self.range(to);
        if !range.is_empty() {
            self.keep(Edit::Deleting);
            self.cursor = range.start;
            self.text.replace_range(range, "");
        }
    }

    /// Deletes up to somewhere, for [`Buffer::yank`].
    pub(super) fn cut(&mut self, to: To) {
        let mut range = self.range(to);
        if range.is_empty() && to == To::LineEnd && range.end < self.text.len() {
            range.end += 1;
        }
        if !range.is_empty() {
            self.keep(Edit::Other);
            self.cursor = range.start;
            self.cut = self.text.drain(range).collect();
        }
    }

    /// Writes what was cut last.
    pub(super) fn yank(&mut self) {
        let cut = mem::take(&mut self.cut);
        if !cut.is_empty() {
            self.insert(&cut);
        }
        self.cut = cut;
    }

    /// Writes something else, the cursor behind it.
    pub(super) fn set(&mut self, text: String) {
        self.keep(Edit::Other);
        self.cursor = text.len();
        self.text = text;
    }

    /// As new, but what was cut. Gives what was written.
    pub(super) fn take(&mut self) -> String {
        self.before.clear();
        self.last = Edit::Other;
        self.cursor = 0;
        mem::take(&mut self.text)
    }

    /// Back to what was before the last change.
    pub(super) fn undo(&mut self) {
        if let Some((text, cursor)) = self.before.pop() {
            self.text = text;
            self.cursor = cursor;
        }
        self.last = Edit::Other;
    }

    /// A change follows.
    fn keep(&mut self, edit: Edit) {
        if edit == Edit::Other || edit != self.last {
            if self.before.len() == MOST_UNDO {
                self.before.remove(0);
            }
            self.before.push((self.text.clone(), self.cursor));
        }
        self.last = edit;
    }

    fn range(&self, to: To) -> std::ops::Range<usize> {
        let place = self.place(to);
        self.cursor.min(place)..self.cursor.max(place)
    }

    fn place(&self, to: To) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match to {
            To::Left => last_cluster(before),
            To::Right => self.cursor + clusters(after).next().map_or(0, |(_, text, _)| text.len()),
            To::WordLeft => {
                let word = before.trim_end_matches(|it| !is_word(it));
                start_of_word(word, is_word)
            }
            To::WordRight => {
                let word = after.trim_start_matches(|it| !is_word(it));
                let rest = if word.starts_with(is_mark) {
                    &word[word.chars().next().map_or(0, char::len_utf8)..]
                } else {
                    word.trim_start_matches(|it| is_word(it) && !is_mark(it))
                };
                self.text.len() - rest.len()
            }
            To::SpaceLeft => start_of_word(before.trim_end(), |it| !it.is_whitespace()),
            To::LineStart => before.rfind('\n').map_or(0, |end| end + 1),
            To::LineEnd => self.cursor + after.find('\n').unwrap_or(after.len()),
            To::Start => 0,
            To::End => self.text.len(),
        }
    }
}

/// Where the last thing that is seen as a character begins.
fn last_cluster(text: &str) -> usize {
    // A line is enough to know, and keeps the cost of a key in a long text low.
    let line = text.rfind('\n').unwrap_or(0);
    clusters(&text[line..])
        .last()
        .map_or(0, |(at, _, _)| line + at)
}

fn start_of_word(text: &str, is_word: impl Fn(char) -> bool) -> usize {
    match text.chars().next_back() {
        Some(mark) if is_mark(mark) => text.len() - mark.len_utf8(),
        _ => text
            .trim_end_matches(|it| is_word(it) && !is_mark(it))
            .len(),
    }
}

/// Letters, digits and what joins them; a chip is a word by itself.
fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || is_mark(char)
}
