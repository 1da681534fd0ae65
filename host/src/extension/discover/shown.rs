//! Names from somebody's disk, made fit for a line on a terminal.

use std::{
    fmt::{self, Write},
    path::Path,
};

use zot_protocol::is_unsafe_in_terminal;

/// A path as a message shows it: a line break, a control sequence or a change of direction in a directory's name is
/// escaped, everything else is as it is.
pub fn path(path: &Path) -> Shown {
    text(&path.to_string_lossy())
}

/// A text as a message shows it.
pub fn text(text: &str) -> Shown {
    Shown(text.to_owned())
}

/// See [`path`].
pub struct Shown(String);

impl fmt::Display for Shown {
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
    fn what_a_terminal_would_act_upon_is_escaped() {
        let shown = |text| super::text(text).to_string();
        assert_eq!(shown("a\n\u{1b}]52;c\u{9b}"), r"a\n\u{1b}]52;c\u{9b}");
        assert_eq!(shown("\u{202e}gpj"), r"\u{202e}gpj");
        assert_eq!(shown(r"it's C:\ü e\u0301"), r"it's C:\ü e\u0301");
    }
}
