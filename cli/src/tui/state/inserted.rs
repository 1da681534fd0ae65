//! Text in the editor that the user may not have written.

use std::time::Instant;

use super::AnswerDelay;

/// Text that was inserted into the editor, usually by an extension.
///
/// Kept after the user has edited or sent it, because the history and undo can bring it back.
#[derive(Debug)]
pub(crate) struct Inserted {
    /// The editor's text after the insertion.
    text: String,
    is_edited: bool,
    delay: AnswerDelay,
}

impl Inserted {
    pub(crate) fn new(text: String) -> Self {
        Self {
            text,
            is_edited: false,
            delay: AnswerDelay::default(),
        }
    }

    /// Records whether the next frame shows the editor.
    pub(crate) fn drawn(&mut self, is_visible: bool, now: Instant) {
        self.delay.drawn(is_visible, now);
    }

    /// Records that the user has changed the text. Keys pressed just after it was inserted do not
    /// count, because the user has not seen it yet.
    pub(crate) fn edit(&mut self, now: Instant) {
        if self.delay.is_over(now) {
            self.is_edited = true;
        } else {
            self.delay.restart(now);
        }
    }

    /// Records that the user has replaced the text.
    pub(crate) fn replace(&mut self) {
        self.is_edited = true;
    }

    /// Reports whether the editor's text counts as inserted: the user has not edited it, or it
    /// equals the inserted text again.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.is_edited || self.is(text)
    }

    /// Reports whether a text equals the inserted one, ignoring whitespace around it.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text.trim() == text.trim()
    }
}
