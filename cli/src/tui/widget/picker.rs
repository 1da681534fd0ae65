//! The picker dialog.

use ratatui::text::{Line, Span};

use super::{rule, selectable, window};
use crate::tui::{state::Picker, text, theme::Theme};

const MAX_ROWS: usize = 12;

pub(crate) fn lines(picker: &Picker, width: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let matching = picker.matching();
    let column = matching.iter().map(|it| text::width(&it.label)).max();
    let column = column.unwrap_or(0).min(usize::from(width) / 2);
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{}: {}", picker.title, picker.filter)
    };
    let mut lines = vec![rule::titled(&title, "", width, theme)];
    let view = window(
        picker.selected,
        matching.len(),
        room.saturating_sub(3).min(MAX_ROWS),
    );
    for index in view {
        let choice = matching[index];
        let columns = u16::try_from(column).unwrap_or(width);
        let label = text::fit(&choice.label, columns);
        let pad = column.saturating_sub(text::width(&label)) + 2;
        let detail = Span::styled(format!("{:pad$}{}", "", choice.detail), theme.muted);
        let [mark, label] = selectable(label, index == picker.selected, theme);
        lines.push(text::fit_line(
            &Line::from(vec![mark, label, detail]),
            width,
        ));
    }
    if matching.is_empty() {
        lines.push(Line::styled("  no matches", theme.muted));
    }
    let keys = format!(
        "↑↓ move · enter {} · type to filter · esc close",
        picker.enter
    );
    lines.push(Line::styled(text::fit(&keys, width), theme.muted));
    lines.push(rule::plain(width, theme));
    lines
}
