//! The login dialog, which asks for a provider's API key and shows it only as dots.

use std::time::Instant;

use ratatui::text::{Line, Span};

use super::{elapsed, rule, spinner};
use crate::tui::{state::LoginDialog, text, theme::Theme};

/// Returns the dialog's lines, and the cursor position within them while the key can be edited.
pub(crate) fn lines(
    login: &LoginDialog,
    now: Instant,
    width: u16,
    theme: &Theme,
) -> (Vec<Line<'static>>, Option<(u16, u16)>) {
    let provider = &login.provider;
    let title = format!("API key for {provider}");
    let mut lines = vec![rule::titled(&title, "hidden", width, theme)];
    let cursor = match login.trying {
        Some(since) => {
            let time = now.duration_since(since);
            let text = format!(" checking with {provider} · {}", elapsed(time));
            let line = Line::from(vec![
                Span::styled(spinner::frame(time), theme.accent),
                Span::styled(text, theme.muted),
            ]);
            lines.push(text::fit_line(&line, width));
            None
        }
        None => {
            let (rows, (x, _)) = login.key.lines(width.saturating_sub(2).max(1), 1, theme);
            let mut spans = vec![Span::styled("› ", theme.accent)];
            spans.extend(rows.into_iter().next().unwrap_or_default().spans);
            lines.push(Line::from(spans));
            Some((x + 2, 1))
        }
    };
    if let Some(error) = &login.error {
        for line in error.lines().take(3) {
            let line = text::fit(&format!("✗ {line}"), width);
            lines.push(Line::styled(line, theme.error));
        }
    }
    let keys = text::fit("enter save · esc close", width);
    lines.push(Line::styled(keys, theme.muted));
    lines.push(rule::plain(width, theme));
    (lines, cursor)
}
