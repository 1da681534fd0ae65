//! Escapes file names for display in a terminal.

use std::{
    fmt::{self, Write},
    path::Path,
};

use zot_protocol::is_unsafe_in_terminal;

/// Displays a path with line breaks, control characters and text direction marks escaped.
pub fn path(path: &Path) -> Escaped {
    text(&path.to_string_lossy())
}

/// Displays a text with the same characters escaped.
pub fn text(text: &str) -> Escaped {
    Escaped(text.to_owned())
}

/// See [`path`].
pub struct Escaped(String);

impl fmt::Display for Escaped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if is_unsafe_in_terminal(char) {
                write!(formatter, "{}", char.escape_default())?;
            } else {
                formatter.write_char(char)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn terminal_control_characters_are_escaped() {
        let shown = |text| super::text(text).to_string();
        assert_eq!(shown("a\n\u{1b}]52;c\u{9b}"), r"a\n\u{1b}]52;c\u{9b}");
        assert_eq!(shown("\u{202e}gpj"), r"\u{202e}gpj");
        assert_eq!(shown(r"it's C:\ü e\u0301"), r"it's C:\ü e\u0301");
    }
}
