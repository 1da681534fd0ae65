//! Sanitises text from an extension for terminals, logs and pages.
//!
//! Frames, names and stderr are untrusted: they may contain control sequences or characters that
//! change the text direction. Every text report sanitises them with these functions.

use std::{borrow::Cow, fmt::Write};

/// Whether a character must be escaped in a report. Newlines are not escaped.
pub(crate) fn is_unsafe(char: char) -> bool {
    char != '\n' && zot_protocol::is_unsafe_in_terminal(char)
}

/// Escapes control characters and invisible characters: ESC becomes `\u{1b}`. Newlines are kept.
///
/// The escapes use Rust's syntax, so that they differ from a `\u001b` in a frame.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            other if is_unsafe(other) => {
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

/// If the text starts with a colour sequence (`ESC [ 1 ; 31 m`), returns the rest of it.
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
