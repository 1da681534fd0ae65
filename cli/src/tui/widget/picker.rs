//! A list to choose from, in the place of the editor.

use ratatui::text::{Line, Span};

use super::{rule, window};
use crate::tui::{state::Picker, text, theme::Theme};

/// So many rows at most.
const MOST: usize = 12;
const KEYS: &str = "↑↓ choose · enter take · type to filter · esc close";

pub(crate) fn lines(picker: &Picker, width: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let fitting = picker.fitting();
    let column = fitting.iter().map(|it| text::width(&it.label)).max();
    let column = column.unwrap_or(0).min(usize::from(width) / 2);
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} {}", picker.title, picker.filter)
    };
    let mut lines = vec![rule::titled(&title, "", width, theme)];
    let view = window(
        picker.selected,
        fitting.len(),
        room.saturating_sub(3).min(MOST),
    );
    for index in view {
        let choice = fitting[index];
        let chosen = index == picker.selected;
        let columns = u16::try_from(column).unwrap_or(width);
        let label = text::fit(&choice.label, columns);
        let pad = column.saturating_sub(text::width(&label)) + 2;
        let line = Line::from(vec![
            Span::styled(if chosen { "› " } else { "  " }, theme.accent),
            Span::styled(label, if chosen { theme.selected } else { theme.text }),
            Span::styled(format!("{:pad$}{}", "", choice.detail), theme.muted),
        ]);
        lines.push(text::fit_line(&line, width));
    }
    if fitting.is_empty() {
        lines.push(Line::styled("  nothing fits", theme.muted));
    }
    lines.push(Line::styled(text::fit(KEYS, width), theme.muted));
    lines.push(rule::plain(width, theme));
    lines
}
