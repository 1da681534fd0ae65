//! The model's reasoning: folded to one line, in full, or as it arrives.

use ratatui::text::Line;

use super::{
    elapsed,
    item::{indented, inner},
};
use crate::tui::{
    state::{Place, Thought},
    text,
    theme::Theme,
};

/// Number of rows to show of reasoning that is still arriving.
const LIVE_ROWS: usize = 6;

/// Draws the reasoning, folded to one line.
pub(crate) fn folded(thought: &Thought, width: u16, theme: &Theme) -> Line<'static> {
    let mut head = head(thought, None);
    if !thought.text.trim().is_empty() {
        head.push_str(" · ctrl+t to show");
    }
    Line::styled(text::fit(&head, width), theme.muted)
}

/// Draws all of the reasoning.
pub(crate) fn unfolded(
    thought: &Thought,
    place: Option<Place>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let head = Line::styled(text::fit(&head(thought, place), width), theme.muted);
    let body = text::plain(&thought.text, inner(width), theme.muted);
    std::iter::once(head).chain(indented(body, width)).collect()
}

/// Draws the last rows of reasoning that is still arriving.
pub(crate) fn live(thought: &Thought, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let body = text::plain(&thought.text, inner(width), theme.muted);
    let from = body.len().saturating_sub(LIVE_ROWS);
    indented(body[from..].to_vec(), width)
}

fn head(thought: &Thought, place: Option<Place>) -> String {
    let mut head = "– thought".to_owned();
    if let Some(Place { number, count }) = place {
        head.push_str(&format!(" {number} of {count}"));
    }
    if let Some(time) = thought.duration() {
        let joint = if place.is_some() { " ·" } else { " for" };
        head.push_str(&format!("{joint} {}", elapsed(time)));
    }
    if thought.is_redacted {
        head.push_str(if thought.text.trim().is_empty() {
            " · redacted"
        } else {
            " · partly redacted"
        });
    }
    head
}
