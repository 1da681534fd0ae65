//! Escapes file names for display in a terminal.

use std::path::Path;

use zot_protocol::is_unsafe_in_terminal;

/// Escapes line breaks, control characters and bidirectional formatting characters in a path.
pub fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// Escapes the same characters as [`path()`], in text.
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if is_unsafe_in_terminal(char) {
            escaped.extend(char.escape_default());
        } else {
            escaped.push(char);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn terminal_control_characters_are_escaped() {
        let shown = super::text;
        assert_eq!(shown("a\n\u{1b}]52;c\u{9b}"), r"a\n\u{1b}]52;c\u{9b}");
        assert_eq!(shown("\u{202e}gpj"), r"\u{202e}gpj");
        assert_eq!(shown(r"it's C:\ü e\u0301"), r"it's C:\ü e\u0301");
    }
}
