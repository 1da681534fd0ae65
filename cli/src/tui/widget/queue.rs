//! Messages that wait for the model's next step, and prompts and commands that wait for the end of
//! the turn.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::tui::{
    state::{Queued, Steered},
    text,
    theme::Theme,
};

const MAX_SHOWN: usize = 5;

pub(crate) fn lines<'s>(
    steered: impl Iterator<Item = &'s Steered>,
    queue: &VecDeque<Queued>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let line = |text: &str| Line::styled(text::fit(text, width), theme.muted);
    let steered = steered.map(|it| format!("↳ next: {}", it.text));
    let queued = queue.iter().map(|it| format!("  later: {}", it.text()));
    let all: Vec<String> = steered.chain(queued).collect();
    let mut lines: Vec<Line<'static>> = all.iter().take(MAX_SHOWN).map(|it| line(it)).collect();
    if all.len() > MAX_SHOWN {
        lines.push(line(&format!("… and {} more", all.len() - MAX_SHOWN)));
    }
    lines
}
