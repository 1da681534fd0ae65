//! Chips: placeholders for long pastes and for images.
//!
//! A chip is a single private-use character in the text, so cursor movement, deletion and undo work
//! as they do for any other character.

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use super::files::Token;
use crate::clean;

/// The characters that represent chips. Other text never contains them.
const CHIPS: RangeInclusive<char> = '\u{f0000}'..='\u{f0fff}';
/// A paste with more lines than this becomes a chip.
const MAX_LINES: usize = 4;
/// A paste with more characters than this becomes a chip.
const MAX_CHARACTERS: usize = 800;

/// A history entry larger than this becomes a chip too, because laying it out on every key press
/// would be slow.
const MAX_BYTES: usize = 8 * 1024;

/// The contents of the chips. They live as long as the editor, because undo and the history can
/// restore a chip.
#[derive(Default)]
pub(super) struct Chips {
    contents: Vec<Content>,
    /// Submitted texts that contained chips: the text with its chips expanded, and the original.
    sent: Vec<(String, String)>,
}

enum Content {
    Text(String),
    Image(PathBuf),
}

impl Chips {
    /// Creates and returns a chip for an image. If all chips are in use, returns the image's `@`
    /// token instead.
    pub(super) fn insert_image(&mut self, path: PathBuf) -> String {
        match chip(self.contents.len()) {
            Some(chip) => {
                self.contents.push(Content::Image(path));
                chip.to_string()
            }
            None => token_of(&path),
        }
    }

    /// Returns the images whose chips are in the text.
    pub(super) fn images(&self, written: &str) -> Vec<PathBuf> {
        let images = written
            .chars()
            .filter_map(|char| match self.content(char)? {
                Content::Image(path) => Some(path.clone()),
                Content::Text(_) => None,
            });
        images.collect()
    }

    /// Returns what to insert for a paste: the text itself if it is short, otherwise a new chip.
    pub(super) fn insert_paste(&mut self, text: &str) -> String {
        let is_long = text.lines().count() > MAX_LINES || text.chars().count() > MAX_CHARACTERS;
        match chip(self.contents.len()) {
            Some(chip) if is_long => {
                self.contents.push(Content::Text(text.to_owned()));
                chip.to_string()
            }
            _ => sanitise(text),
        }
    }

    /// Returns what to insert for a history entry or other replacement text. Text that was
    /// submitted in this editor gets its original chips back. Other text becomes a single chip if
    /// it is very long.
    pub(super) fn restore(&mut self, text: &str) -> String {
        if let Some((_, written)) = self.sent.iter().rev().find(|(sent, _)| sent == text) {
            return written.clone();
        }
        if text.len() > MAX_BYTES {
            return self.insert_paste(text);
        }
        sanitise(text)
    }

    /// Expands text that is being submitted, and remembers its chips.
    pub(super) fn submit(&mut self, written: String) -> String {
        let text = self.expanded(&written);
        if written.contains(is_chip) {
            self.sent.push((text.clone(), written));
        }
        text
    }

    /// Returns the label of a chip, or `None` for other characters.
    pub(super) fn label(&self, char: char) -> Option<String> {
        let text = match self.content(char)? {
            Content::Text(text) => text,
            Content::Image(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = clean::line(&name).replace(' ', "\u{a0}");
                return Some(format!("[{name}]"));
            }
        };
        let lines = text.lines().count();
        // Non-breaking spaces keep the label on one row.
        Some(if lines > 1 {
            format!("[pasted\u{a0}{lines}\u{a0}lines]")
        } else {
            format!("[pasted\u{a0}{}\u{a0}characters]", text.chars().count())
        })
    }

    /// Replaces the chips in the text with their contents.
    pub(super) fn expanded(&self, written: &str) -> String {
        let mut whole = String::with_capacity(written.len());
        for char in written.chars() {
            match self.content(char) {
                Some(Content::Text(text)) => whole.push_str(text),
                Some(Content::Image(path)) => whole.push_str(&token_of(path)),
                None => whole.push(char),
            }
        }
        whole
    }

    fn content(&self, char: char) -> Option<&Content> {
        let number = u32::from(char).checked_sub(u32::from(*CHIPS.start()))?;
        self.contents.get(usize::try_from(number).ok()?)
    }
}

/// Returns the `@` token of an image.
fn token_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    sanitise(Token::for_path(&path).trim_end())
}

/// Returns the chip character with this number, or `None` if all of them are in use.
fn chip(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok()?;
    char::from_u32(u32::from(*CHIPS.start()) + number).filter(|chip| CHIPS.contains(chip))
}

/// Reports whether a character is reserved for chips.
pub(super) fn is_chip(char: char) -> bool {
    CHIPS.contains(&char)
}

/// Removes control characters and characters reserved for chips.
pub(super) fn sanitise(text: &str) -> String {
    clean::text(text).replace(is_chip, "")
}

/// Normalises line endings. Terminals send the line endings in a paste as carriage returns.
pub(super) fn normalise_line_endings(paste: &str) -> String {
    paste.replace("\r\n", "\n").replace('\r', "\n")
}
