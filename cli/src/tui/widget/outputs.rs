//! The outputs of the user's commands that are waiting for the next message.

use ratatui::text::Line;

use crate::tui::{state::Outputs, text, theme::Theme};

pub(crate) fn lines(
    outputs: &Outputs,
    can_drop: bool,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let line = |text: &str| Line::styled(text::fit(text, width), theme.muted);
    let mut lines: Vec<Line<'static>> = outputs.labels().map(|label| line(&label)).collect();
    if !lines.is_empty() {
        let hint = if can_drop { " · esc to drop" } else { "" };
        lines.push(line(&format!("  sent with your next message{hint}")));
    }
    lines
}
