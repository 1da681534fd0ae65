//! Text of an extension's making, fit for a terminal: nothing in it moves the cursor, renames the window or turns the
//! reading direction around.

/// Several lines: their colours and other control sequences are gone, line breaks and tabs stay.
pub(crate) fn text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => clean.push(char),
            '\x1b' => match chars.next_if(|next| *next != '\n') {
                Some('[') => skip_control_sequence(&mut chars),
                // A text for the terminal: its title, the clipboard.
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                _ => {}
            },
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            char if char.is_control() || is_unseen(char) => {}
            char => clean.push(char),
        }
    }
    clean
}

/// One line: what would begin another is a space.
pub(crate) fn line(line: &str) -> String {
    text(line).replace(['\n', '\t'], " ")
}

type Chars<'c> = std::iter::Peekable<std::str::Chars<'c>>;

/// Up to its last character; a line's end is not part of it.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while let Some(char) = chars.next_if(|char| (' '..='~').contains(char)) {
        if ('@'..='~').contains(&char) {
            return;
        }
    }
}

/// Up to its terminator; one that never comes ends with the line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(char) = chars.next_if(|char| *char != '\n') {
        match char {
            '\x07' | '\u{9c}' => return,
            '\x1b' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Turns the direction, or looks like nothing. Joiners stay: emoji need them.
fn is_unseen(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// JSON as one line in which nothing but text is left: what a terminal would act upon is escaped, as JSON may.
pub(crate) fn json(value: &serde_json::Value) -> String {
    let mut clean = String::new();
    for char in value.to_string().chars() {
        if char.is_control() || is_unseen(char) {
            // Whatever is not ASCII stands in a string. All of these are below U+10000.
            clean.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            clean.push(char);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_is_gone_and_what_is_read_stays() {
        for (dirty, clean) in [
            ("\x1b[1;31mError\x1b[0m: no\r\n\tat x", "Error: no\n\tat x"),
            ("\x1b]0;owned\x07a\x1b]52;c;eA==\x1b\\b", "ab"),
            ("\x1b]0;never ends\nnext", "\nnext"),
            ("\u{9b}2Ja\u{9d}x\u{9c}b\x07\x08\x7f", "ab"),
            ("a\u{202e}b\u{200b}c 👩‍🚀 ü", "abc 👩‍🚀 ü"),
            ("\x1b(Bx\x1b", "Bx"),
            ("\x1b[", ""),
        ] {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
        assert_eq!(line("a\n\tb"), "a  b");
    }

    #[test]
    fn json_stays_what_it_is() {
        let value = serde_json::json!({"a": "\u{1b}[2J\u{9b}\u{202e} ü"});
        let shown = json(&value);
        assert_eq!(shown, r#"{"a":"\u001b[2J\u009b\u202e ü"}"#);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).ok(),
            Some(value)
        );
    }
}
