//! Terminal colours: one accent, grey for details, red for failures.

use std::borrow::Cow;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// The terminal's default.
    Plain,
    /// Important text.
    Strong,
    /// The accent colour.
    Accent,
    /// Details.
    Muted,
    /// Failures only.
    Bad,
}

/// Applies styles if colours are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    /// Returns the text in this style.
    pub(super) fn ink(self, ink: Ink, text: &str) -> Cow<'_, str> {
        let code = match ink {
            Ink::Plain => return Cow::Borrowed(text),
            _ if !self.0 || text.is_empty() => return Cow::Borrowed(text),
            Ink::Strong => "1",
            Ink::Accent => "36",
            // Bright black, not faint: some terminals do not draw faint at all.
            Ink::Muted => "90",
            Ink::Bad => "1;31",
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }
}
