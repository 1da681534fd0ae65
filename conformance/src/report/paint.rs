//! Terminal colours: one accent, grey for details, red for failures.

use std::borrow::Cow;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
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
    pub(super) fn apply(self, style: Style, text: &str) -> Cow<'_, str> {
        let code = match style {
            Style::Plain => return Cow::Borrowed(text),
            _ if !self.0 || text.is_empty() => return Cow::Borrowed(text),
            Style::Strong => "1",
            Style::Accent => "36",
            // Bright black, not faint: some terminals do not draw faint at all.
            Style::Muted => "90",
            Style::Bad => "1;31",
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }
}
