//! That something is going on: what, for how long, in which step, and how to end it.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use super::elapsed;
use crate::tui::{
    state::{Doing, Turn},
    text,
    theme::Theme,
};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// The sign that turns.
pub(crate) fn sign(time: Duration) -> &'static str {
    let frame = time.as_millis() / FRAME.as_millis();
    FRAMES[usize::try_from(frame).unwrap_or(0) % FRAMES.len()]
}

/// What the model is at.
pub(crate) fn of_turn(turn: &Turn, now: Instant, width: u16, theme: &Theme) -> Line<'static> {
    let time = now.duration_since(turn.since);
    let what = if turn.cancelled {
        "cancelling"
    } else {
        turn.what
    };
    let mut rest = format!(" · {}", elapsed(time));
    if turn.step > 0 {
        rest.push_str(&format!(" · step {}", turn.step));
    }
    if !turn.cancelled {
        rest.push_str(" · esc cancels");
    }
    line(what, &rest, time, width, theme)
}

/// What else is being done.
pub(crate) fn of_doing(
    doing: &Doing,
    hint: &str,
    now: Instant,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let time = now.duration_since(doing.since);
    let rest = format!(" · {}{hint}", elapsed(time));
    line(&doing.what, &rest, time, width, theme)
}

fn line(what: &str, rest: &str, time: Duration, width: u16, theme: &Theme) -> Line<'static> {
    let line = Line::from(vec![
        Span::styled(format!("{} ", sign(time)), theme.accent),
        Span::styled(what.to_owned(), theme.text),
        Span::styled(rest.to_owned(), theme.muted),
    ]);
    text::fit_line(&line, width)
}
