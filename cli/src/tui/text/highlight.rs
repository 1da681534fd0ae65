//! Code in colours.

use ratatui::text::Line;

use crate::tui::theme::Theme;

/// Code in the colours of its language, which is a name (`rust`) or a file's ending (`rs`).
pub(crate) fn code(source: &str, _language: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    super::plain(source, width, theme.text)
}
