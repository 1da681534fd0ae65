//! Pasted texts that stand as one mark in what is written.
//!
//! A mark is a character of its own from a range that is nobody's, so moving over it, deleting it and undoing that are
//! what they are for any other character.

use std::ops::RangeInclusive;

use crate::clean;

/// The marks. What else is written never holds one of these.
const MARKS: RangeInclusive<char> = '\u{f0000}'..='\u{f0fff}';
/// As many lines are shown as they are; a paste of more is a chip.
const MOST_LINES: usize = 4;
/// As many characters are shown as they are.
const MOST_CHARACTERS: usize = 800;

/// More than this is never shown as it is: each key would lay out all of it.
const MOST_BYTES: usize = 8 * 1024;

/// The texts behind the marks. They stay as long as the editor: undo and history may bring a mark back.
#[derive(Default)]
pub(super) struct Chips {
    texts: Vec<String>,
    /// What was sent with marks in it: as text, and as it was written.
    sent: Vec<(String, String)>,
}

impl Chips {
    /// A text as it is written: itself if it is short, else the mark that stands for it from now on.
    pub(super) fn written(&mut self, text: &str) -> String {
        let is_long = text.lines().count() > MOST_LINES || text.chars().count() > MOST_CHARACTERS;
        match mark(self.texts.len()) {
            Some(mark) if is_long => {
                self.texts.push(text.to_owned());
                mark.to_string()
            }
            _ => fit_to_write(text),
        }
    }

    /// Something whole as it is written: with its chips if it was written here, as one if it is very long.
    pub(super) fn rewritten(&mut self, text: &str) -> String {
        if let Some((_, written)) = self.sent.iter().rev().find(|(sent, _)| sent == text) {
            return written.clone();
        }
        if text.len() > MOST_BYTES {
            return self.written(text);
        }
        fit_to_write(text)
    }

    /// What is written is sent: gives it with the texts in the place of their marks.
    pub(super) fn send(&mut self, written: String) -> String {
        let text = self.expanded(&written);
        if written.contains(is_mark) {
            self.sent.push((text.clone(), written));
        }
        text
    }

    /// What is shown for a character; `None` if it is no mark.
    pub(super) fn label(&self, char: char) -> Option<String> {
        let text = self.behind(char)?;
        let lines = text.lines().count();
        // Spaces at which no line breaks.
        Some(if lines > 1 {
            format!("[pasted\u{a0}{lines}\u{a0}lines]")
        } else {
            format!("[pasted\u{a0}{}\u{a0}characters]", text.chars().count())
        })
    }

    /// What is written, with the texts in the place of their marks.
    pub(super) fn expanded(&self, written: &str) -> String {
        let mut whole = String::with_capacity(written.len());
        for char in written.chars() {
            match self.behind(char) {
                Some(text) => whole.push_str(text),
                None => whole.push(char),
            }
        }
        whole
    }

    fn behind(&self, char: char) -> Option<&str> {
        let number = u32::from(char).checked_sub(u32::from(*MARKS.start()))?;
        let text = self.texts.get(usize::try_from(number).ok()?)?;
        Some(text)
    }
}

/// The mark of this number, as long as there are some.
fn mark(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok()?;
    char::from_u32(u32::from(*MARKS.start()) + number).filter(|mark| MARKS.contains(mark))
}

/// Whether a character may be a mark.
pub(super) fn is_mark(char: char) -> bool {
    MARKS.contains(&char)
}

/// A text of which every character can be shown, and none is taken for a mark.
pub(super) fn fit_to_write(text: &str) -> String {
    clean::text(text).replace(is_mark, "")
}

/// The line ends of a terminal's paste, which are those of the Enter key, as those of a text.
pub(super) fn with_line_ends(paste: &str) -> String {
    paste.replace("\r\n", "\n").replace('\r', "\n")
}
