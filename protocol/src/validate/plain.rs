//! Makes untrusted text safe for error messages: one line, no control characters, limited length.

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
    // Unicode does not class line separators, paragraph separators and bidirectional controls as
    // control characters, but they are just as harmful in a terminal.
    let is_invisible_control = matches!(
        char,
        '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    ) || ('\u{202a}'..='\u{202e}').contains(&char)
        || ('\u{2066}'..='\u{2069}').contains(&char);
    if char.is_control() || is_invisible_control {
        '\u{fffd}'
    } else {
        char
    }
}
