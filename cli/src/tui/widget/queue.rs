//! Queued prompts and commands.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::tui::{state::Queued, text, theme::Theme};

const MAX_SHOWN: usize = 5;

pub(crate) fn lines(queue: &VecDeque<Queued>, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let line = |text: &str| Line::styled(text::fit(text, width), theme.muted);
    let mut lines: Vec<Line<'static>> = queue
        .iter()
        .take(MAX_SHOWN)
        .map(|queued| line(&format!("… {}", queued.text())))
        .collect();
    if queue.len() > MAX_SHOWN {
        lines.push(line(&format!("… and {} more", queue.len() - MAX_SHOWN)));
    }
    lines
}
