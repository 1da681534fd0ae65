//! What waits for the agent.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::tui::{state::Queued, text, theme::Theme};

/// So many are shown.
const MOST: usize = 5;

pub(crate) fn lines(queue: &VecDeque<Queued>, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let line = |text: &str| Line::styled(text::fit(text, width), theme.muted);
    let mut lines: Vec<Line<'static>> = queue
        .iter()
        .take(MOST)
        .map(|queued| line(&format!("… {}", queued.text())))
        .collect();
    if queue.len() > MOST {
        lines.push(line(&format!("… and {} more", queue.len() - MOST)));
    }
    lines
}
