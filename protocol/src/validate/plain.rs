//! Foreign text in a message of ours: on one line, without anything that a terminal would obey, and not too long.

/// Replaces what is no plain character, and cuts after `most` characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut line: String = chars.by_ref().take(most).map(visible).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

fn visible(char: char) -> char {
    // Line and paragraph separators and the controls that turn the direction of text are no control characters to
    // Unicode, and just as unwelcome.
    let unwelcome = matches!(
        char,
        '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    ) || ('\u{202a}'..='\u{202e}').contains(&char)
        || ('\u{2066}'..='\u{2069}').contains(&char);
    if char.is_control() || unwelcome {
        '\u{fffd}'
    } else {
        char
    }
}
