//! Sanitises text from extensions and models for the terminal: removes everything that moves the
//! cursor, sets the window title or changes the text direction.

use std::{borrow::Cow, io};

use serde::Serialize;
use serde_json::ser::Formatter;
use unicode_width::UnicodeWidthChar;
use zot_protocol::is_unsafe_in_terminal;

/// The maximum number of combining marks per character. No real text has more, and a terminal
/// would draw them all in one cell, over the text around it.
const MAX_MARKS: usize = 16;

/// Sanitises multi-line text: removes colours and other control sequences, but keeps newlines and
/// tabs.
pub(crate) fn text(text: &str) -> String {
    // Fast path: nearly all text is plain ASCII.
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut marks = Marks::default();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => clean.push(char),
            '\x1b' => match chars.next_if(|next| !matches!(next, '\n' | '\x1b')) {
                Some('[') => skip_control_sequence(&mut chars),
                // A control string (OSC, DCS, SOS, PM or APC), such as a window title or clipboard
                // contents.
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                Some(' '..='/') => skip_intermediates(&mut chars),
                _ => {}
            },
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            char if is_unsafe_in_terminal(char) => {}
            char if marks.exceeded_by(char) => {}
            char => clean.push(char),
        }
    }
    clean
}

/// Counts the zero-width marks on the current character, such as accents and joiners. A character
/// that follows a joiner does not reset the count.
#[derive(Default)]
struct Marks {
    count: usize,
    joins: bool,
}

impl Marks {
    fn exceeded_by(&mut self, char: char) -> bool {
        if char.width() != Some(0) {
            if !std::mem::take(&mut self.joins) {
                self.count = 0;
            }
            return false;
        }
        self.count += 1;
        let too_many = self.count > MAX_MARKS;
        self.joins = char == '\u{200d}' && !too_many;
        too_many
    }
}

/// Sanitises a single line: newlines and tabs become spaces.
pub(crate) fn line(line: &str) -> String {
    let clean = text(line);
    if clean.contains(['\n', '\t']) {
        return clean.replace(['\n', '\t'], " ");
    }
    clean
}

/// Makes multi-line text safe for the terminal without hiding anything: characters that [`text`]
/// would remove are escaped, as in `\u{1b}`. Use this for text that the user is asked to approve.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut marks = Marks::default();
    for char in text.chars() {
        match char {
            '\n' | '\t' => visible.push(char),
            '\r' => visible.push_str("\\r"),
            char if is_unsafe_in_terminal(char) || marks.exceeded_by(char) => {
                visible.extend(char.escape_unicode());
            }
            char => visible.push(char),
        }
    }
    visible
}

type Chars<'c> = std::iter::Peekable<std::str::Chars<'c>>;

/// Skips a control sequence (CSI) up to its final byte, or to the end of the line.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while let Some(char) = chars.next_if(|char| (' '..='~').contains(char)) {
        if ('@'..='~').contains(&char) {
            return;
        }
    }
}

/// Skips an escape sequence with intermediate bytes, such as a character set selection.
fn skip_intermediates(chars: &mut Chars<'_>) {
    while let Some(char) = chars.next_if(|char| (' '..='~').contains(char)) {
        if ('0'..='~').contains(&char) {
            return;
        }
    }
}

/// Skips a control string up to its terminator. An unterminated string stops at the end of the line
/// or at the next escape sequence.
fn skip_string(chars: &mut Chars<'_>) {
    loop {
        match chars.peek() {
            None | Some('\n') => return,
            Some('\x1b') => {
                let mut ahead = chars.clone();
                ahead.next();
                if ahead.next() == Some('\\') {
                    *chars = ahead;
                }
                return;
            }
            Some(char) => {
                let is_end = matches!(char, '\x07' | '\u{9c}');
                chars.next();
                if is_end {
                    return;
                }
            }
        }
    }
}

/// Formats a value as one line of JSON that is safe to print to a terminal.
pub(crate) fn json(value: &serde_json::Value) -> String {
    escape_json(&value.to_string()).into_owned()
}

/// Formats a value as indented JSON that is safe to print to a terminal.
pub(crate) fn pretty_json(value: &serde_json::Value) -> String {
    escape_json(&format!("{value:#}")).into_owned()
}

/// Escapes the characters in JSON that a terminal would interpret or not display. The value stays
/// the same. Newlines are kept: in JSON they are only layout.
fn escape_json(json: &str) -> Cow<'_, str> {
    let is_unsafe = |char: char| char != '\n' && is_unsafe_in_terminal(char);
    // Fast path: nearly all JSON is plain ASCII.
    let plain = json.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
    if plain || !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut clean = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if is_unsafe(char) {
            // The character must be inside a string, because everything else in JSON is ASCII.
            for unit in char.encode_utf16(&mut [0; 2]) {
                clean.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            clean.push(char);
        }
    }
    Cow::Owned(clean)
}

/// Writes a value as one line of JSON, like [`json`].
pub(crate) fn write_json(to: impl io::Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(to, Escaping))
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        writer.write_all(escape_json(fragment).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed_and_text_is_kept() {
        for (dirty, clean) in [
            ("\x1b[1;31mError\x1b[0m: no\r\n\tat x", "Error: no\n\tat x"),
            ("\x1b]0;owned\x07a\x1b]52;c;eA==\x1b\\b", "ab"),
            ("\x1b]0;never ends\nnext", "\nnext"),
            ("\u{9b}2Ja\u{9d}x\u{9c}b\x07\x08\x7f", "ab"),
            ("a\u{202e}b\u{200b}c 👩‍🚀 ü", "abc 👩‍🚀 ü"),
            ("\x1b(Bx\x1b", "x"),
            ("\x1b[", ""),
            ("\x1b\x1b[31ma\x1b]0;t\x1b[1mb", "ab"),
            ("\x1b#8\x1bc\x1b7a", "a"),
            (
                "\x1bPq#0~\x1b\\a\x1b_apc\x1b\\b\x1b^pm\x07c\x1bXsos\u{9c}d",
                "abcd",
            ),
            (
                "\u{90}dcs\u{9c}a\u{9f}apc\u{9c}b\u{9e}pm\u{9c}c\u{98}sos\u{9c}d",
                "abcd",
            ),
            ("a\u{e0041}\u{3164}b\u{2066}c", "abc"),
        ] {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
        assert_eq!(line("a\n\tb"), "a  b");
    }

    #[test]
    fn combining_marks_are_kept_up_to_the_limit() {
        for kept in ["e\u{301}\u{323}", "👨‍👩‍👧‍👦", "क्ष्म्य", "שָׁלוֹם", "🏳️‍🌈", "สวัสดี"]
        {
            assert_eq!(text(kept), kept);
        }
        let zalgo = format!("a{}b", "\u{301}".repeat(5000));
        assert_eq!(text(&zalgo).chars().count(), MAX_MARKS + 2);
        let chain = "👩\u{200d}".repeat(100);
        assert!(!text(&chain).contains(&"👩\u{200d}".repeat(MAX_MARKS + 1)));
    }

    proptest::proptest! {
        #[test]
        fn no_control_or_invisible_characters_remain(dirty in "[\\x00-\\x7f\\u{80}-\\u{9f}\\u{2028}-\\u{202e}\\u{2066}-\\u{2069}a-zü👩 ]{0,60}") {
            for clean in [text(&dirty).replace(['\n', '\t'], ""), line(&dirty), json(&dirty.as_str().into())] {
                proptest::prop_assert!(!clean.contains(is_unsafe_in_terminal), "{clean:?}");
            }
        }

        #[test]
        fn clean_text_is_unchanged(dirty in "\\PC{0,40}") {
            let clean = text(&dirty);
            proptest::prop_assert_eq!(text(&clean), clean);
        }
    }

    #[test]
    fn visible_text_shows_what_would_be_removed() {
        for (dirty, shown) in [
            ("plain\n\ttext ü 👩‍🚀", "plain\n\ttext ü 👩‍🚀"),
            ("ls \u{202e}cba", "ls \\u{202e}cba"),
            ("a\x1b[2Jb\u{200b}", "a\\u{1b}[2Jb\\u{200b}"),
            ("rm x\r\nls", "rm x\\r\nls"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
        ] {
            assert_eq!(visible(dirty), shown);
            assert_eq!(text(shown), shown);
        }
    }

    #[test]
    fn escaped_json_parses_to_the_same_value() {
        let value = serde_json::json!({"a": "\u{1b}[2J\u{9b}\u{202e}\u{e0041} ü"});
        let shown = json(&value);
        assert_eq!(shown, r#"{"a":"\u001b[2J\u009b\u202e\udb40\udc41 ü"}"#);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown)
                .ok()
                .as_ref(),
            Some(&value)
        );
        let mut written = Vec::new();
        write_json(&mut written, &value).expect("written");
        assert_eq!(written, shown.as_bytes());
    }
}
