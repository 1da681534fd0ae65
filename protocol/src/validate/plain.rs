//! Makes untrusted text safe for error messages: one line, no control characters, limited length.

use crate::is_unsafe_in_terminal;

/// Replaces control characters and truncates the text to `most` characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut line: String = chars.by_ref().take(most).map(visible).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

fn visible(char: char) -> char {
    if is_unsafe_in_terminal(char) {
        '\u{fffd}'
    } else {
        char
    }
}
