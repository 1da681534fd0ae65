//! The completion popup below the editor.

use ratatui::text::{Line, Span};

use super::{selectable, window};
use crate::tui::{
    state::{Popup, PopupRow},
    text,
    theme::Theme,
};

/// Returns the rows that fit, and the numbers of hidden rows below and above them.
pub(crate) fn lines(popup: &Popup, width: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let names = popup.rows.iter().filter_map(name);
    let column = names.map(|it| text::width(&it)).max().unwrap_or(0).min(28);
    let at = popup.at();
    let count = popup.rows.len();
    let room = if count > room {
        room.saturating_sub(1)
    } else {
        room
    };
    let view = window(at, count, room);
    let (below, above) = (count - view.end, view.start);
    let rows = view.map(|index| {
        let row = &popup.rows[index];
        text::fit_line(&line(row, index == at, column, theme), width)
    });
    let mut lines: Vec<Line<'static>> = rows.collect();
    let hidden = match (below, above) {
        (0, 0) => None,
        (below, 0) => Some(format!("  … {below} more")),
        (0, above) => Some(format!("  … {above} above")),
        (below, above) => Some(format!("  … {below} more, {above} above")),
    };
    if let Some(hidden) = hidden.filter(|_| !lines.is_empty()) {
        lines.push(Line::styled(text::fit(&hidden, width), theme.muted));
    }
    lines
}

fn name(row: &PopupRow) -> Option<String> {
    match row {
        PopupRow::Builtin(builtin) => Some(format!("/{}", builtin.name())),
        PopupRow::Command { name, .. } => Some(format!("/{name}")),
        PopupRow::Divider(_) | PopupRow::File(_) => None,
    }
}

fn line(row: &PopupRow, chosen: bool, column: usize, theme: &Theme) -> Line<'static> {
    let about = match row {
        PopupRow::Divider(extension) => {
            return Line::styled(format!("  ── {extension} ──"), theme.muted);
        }
        PopupRow::File(file) => {
            let spans = selectable(file.path.clone(), chosen, theme);
            return Line::from(spans.to_vec());
        }
        PopupRow::Builtin(builtin) => builtin.about().to_owned(),
        PopupRow::Command { description, .. } => description.clone(),
    };
    let name = name(row).unwrap_or_default();
    let pad = column.saturating_sub(text::width(&name)) + 2;
    let about = Span::styled(format!("{:pad$}{about}", ""), theme.muted);
    let [mark, name] = selectable(name, chosen, theme);
    Line::from(vec![mark, name, about])
}
