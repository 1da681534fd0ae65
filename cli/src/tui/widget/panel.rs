//! An extension's panel, shown in place of the editor.

use ratatui::{
    layout::Size,
    text::{Line, Span},
};

use super::rule;
use crate::tui::{state::Panel, text, theme::Theme};

pub(crate) fn lines(panel: &Panel, size: Size, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let width = size.width;
    let (columns, height) = Panel::room(size);
    let cut = |text: &str, style| {
        Line::from(vec![
            Span::raw(" "),
            Span::styled(text::fit(text, columns), style),
        ])
    };
    let body = usize::from(height.min(room.saturating_sub(3)).max(1));
    let mut lines = Vec::new();
    if room >= 2 {
        let by = format!("[{}]", panel.extension);
        lines.push(rule::titled(&panel.title, &by, width, theme));
    }
    let shown = panel.lines.iter().take(body);
    lines.extend(shown.map(|line| cut(line, theme.text)));
    if !panel.footer.is_empty() && room >= 4 {
        lines.push(cut(&panel.footer, theme.muted));
    }
    if room >= 3 {
        lines.push(rule::plain(width, theme));
    }
    lines
}
