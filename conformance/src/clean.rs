//! Sanitises text from an extension for terminals, logs and pages.
//!
//! Frames, names and stderr are untrusted: they may contain control sequences or characters that
//! change the text direction. Every text report passes them through here.

use std::{borrow::Cow, fmt::Write};

/// Whether a character is invisible, or changes how the text around it is displayed.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(
        char,
        // C0 and C1 controls, which introduce control sequences, except the newline.
        '\0'..='\x09' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}'
        // Characters that mark or change the text direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Zero-width characters, and separators that some programs treat as newlines. Joiners are
        // allowed, because emoji need them.
        | '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}'
        // Noncharacters, which XML does not allow.
        | '\u{fffe}' | '\u{ffff}'
    )
}

/// Escapes control characters and invisible characters as `\u{1b}`; newlines stay.
///
/// The escape is Rust's, to distinguish it from a `\u001b` in a frame.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            other if is_invisible(other) => {
                write!(shown, "\\u{{{:x}}}", u32::from(other))
                    .expect("writing to a string cannot fail");
            }
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

/// Like [`visible`], for terminal output: drops colours, expands tabs, and treats `\r\n` as a
/// newline, so that a traceback stays readable. Other control sequences are still escaped.
pub fn console(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['\x1b', '\t', '\r']) {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(after) = after_colour(rest) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\t') {
            plain.push_str("    ");
            rest = after;
        } else if rest.starts_with("\r\n") {
            rest = &rest[1..];
        } else {
            plain.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    visible(&plain).into_owned()
}

/// Returns the text after a colour sequence (`ESC [ 1 ; 31 m`), if it starts with one.
fn after_colour(text: &str) -> Option<&str> {
    text.strip_prefix("\x1b[")?
        .trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, ';' | ':'))
        .strip_prefix('m')
}

#[cfg(test)]
mod tests {
    use super::{console, visible};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("12 °C 👩‍🚀\nnext"), "12 °C 👩‍🚀\nnext");
        assert_eq!(
            visible("\x1b]0;owned\x07 \u{9b}2J a\u{202e}b\tc\r"),
            "\\u{1b}]0;owned\\u{7} \\u{9b}2J a\\u{202e}b\\tc\\r"
        );
    }

    #[test]
    fn console_drops_only_colours() {
        assert_eq!(
            console("\x1b[1;31mError\x1b[0m:\tno\r\n\x1b[2J\x1b[3"),
            "Error:    no\n\\u{1b}[2J\\u{1b}[3"
        );
    }
}
