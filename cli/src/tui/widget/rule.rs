//! Horizontal rules, with an optional title.

use ratatui::text::{Line, Span};

use crate::tui::{text, theme::Theme};

/// Returns a plain rule.
pub(crate) fn plain(width: u16, theme: &Theme) -> Line<'static> {
    Line::styled("─".repeat(width.into()), theme.muted)
}

/// Returns a rule with a title. If there is space, the rule ends with a remark.
pub(crate) fn titled(title: &str, remark: &str, width: u16, theme: &Theme) -> Line<'static> {
    let width = usize::from(width);
    if title.is_empty() && remark.is_empty() || width < 8 {
        return Line::styled("─".repeat(width), theme.muted);
    }
    let room = u16::try_from(width.saturating_sub(5)).unwrap_or(u16::MAX);
    let title = text::fit(title, room);
    let used = if title.is_empty() {
        2
    } else {
        4 + text::width(&title)
    };
    let mut spans = vec![Span::styled("──", theme.muted)];
    if !title.is_empty() {
        spans.push(Span::styled(format!(" {title} "), theme.accent));
    }
    let tail = text::width(remark) + 4;
    if remark.is_empty() || used + tail >= width {
        spans.push(Span::styled(
            "─".repeat(width.saturating_sub(used)),
            theme.muted,
        ));
    } else {
        let middle = "─".repeat(width - used - tail);
        spans.push(Span::styled(format!("{middle} {remark} ──"), theme.muted));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_as_wide_as_the_screen() {
        let theme = Theme::plain();
        for width in [1, 7, 8, 12, 20, 80] {
            for (title, remark) in [("", ""), ("To do", ""), ("To do", "todo"), ("", "x")] {
                let line = titled(title, remark, width, &theme);
                assert_eq!(line.width(), usize::from(width), "{title:?} {remark:?}");
            }
        }
    }
}
