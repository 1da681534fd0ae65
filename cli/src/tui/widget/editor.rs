//! The editor, between two rules.

use ratatui::text::{Line, Span};

use super::rule;
use crate::tui::{editor::Editor, theme::Theme};

/// The placeholder in an empty editor.
const HINT: &str = "ask, / for commands, @ for files, ! for the shell";
const MARK: &str = "› ";

/// Returns the editor's lines below a rule with this title, and the cursor position (column, row)
/// within them.
pub(crate) fn lines(
    editor: &Editor,
    title: &str,
    width: u16,
    room: u16,
    theme: &Theme,
) -> (Vec<Line<'static>>, (u16, u16)) {
    let framed = room >= 3 && width >= 4;
    let mark = if width >= 8 { MARK } else { "" };
    let indent = if mark.is_empty() { 0 } else { 2 };
    let inner = width.saturating_sub(indent).max(1);
    let most = if framed { room - 2 } else { room }.max(1);
    let (rows, (x, y)) = editor.lines(inner, most, theme);
    let mut lines = Vec::new();
    if framed {
        lines.push(rule::titled(title, "", width, theme));
    }
    for (at, row) in rows.into_iter().enumerate() {
        let mark = match (mark.is_empty(), at) {
            (true, _) => "",
            (false, 0) => mark,
            (false, _) => "  ",
        };
        let mut spans = vec![Span::styled(mark, theme.accent)];
        spans.extend(row.spans);
        lines.push(Line::from(spans).style(row.style));
    }
    if editor.is_empty() && width >= 40 {
        lines.truncate(usize::from(framed));
        lines.push(Line::from(vec![
            Span::styled(mark, theme.accent),
            Span::styled(HINT, theme.muted),
        ]));
    }
    if framed {
        lines.push(rule::plain(width, theme));
    }
    (lines, (x + indent, y + u16::from(framed)))
}
