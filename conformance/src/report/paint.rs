//! The few colours of a terminal that are used: one accent, grey for machinery, red for what fails.

use std::borrow::Cow;

/// A manner of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// As the terminal writes.
    Plain,
    /// What to look at first.
    Strong,
    /// The one accent.
    Accent,
    /// What is there to be skipped.
    Muted,
    /// What fails, and nothing else.
    Bad,
}

/// Writes in colour, or does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    /// The text in that ink.
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
