//! The spinner line: the current activity, its duration and step, and how to cancel it.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use super::elapsed;
use crate::tui::{
    state::{Activity, ShellRun, Turn},
    text,
    theme::Theme,
};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// Returns the spinner's current frame.
pub(crate) fn frame(time: Duration) -> &'static str {
    let frame = time.as_millis() / FRAME.as_millis();
    FRAMES[usize::try_from(frame).unwrap_or(0) % FRAMES.len()]
}

/// Returns the spinner line for the running prompt. If `asks` is true, the prompt is waiting for an
/// answer from the user.
pub(crate) fn of_turn(
    turn: &Turn,
    asks: bool,
    now: Instant,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let time = now.duration_since(turn.since);
    let label = match (turn.cancelled, asks) {
        (true, _) => "cancelling",
        (false, true) => "waiting for you",
        (false, false) => turn.label,
    };
    let retry = turn.retry.as_ref().filter(|_| !turn.cancelled);
    let waiting;
    let label = match retry {
        Some(retry) => {
            let left = retry.at.saturating_duration_since(now).as_secs_f64().ceil();
            waiting = if left > 0.0 {
                format!("{}, trying again in {left} s", retry.why)
            } else {
                format!("{}, trying again", retry.why)
            };
            &waiting
        }
        None => label,
    };
    let mut rest = format!(" · {}", elapsed(time));
    if turn.step > 0 {
        rest.push_str(&format!(" · step {}", turn.step));
    }
    if !turn.cancelled {
        rest.push_str(" · esc to cancel");
    }
    line(label, &rest, time, width, theme)
}

/// Returns the spinner line for an activity other than a turn.
pub(crate) fn of_activity(
    activity: &Activity,
    hint: &str,
    now: Instant,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let time = now.duration_since(activity.since);
    let rest = format!(" · {}{hint}", elapsed(time));
    line(&activity.label, &rest, time, width, theme)
}

/// Returns the spinner line for a command that the user started.
pub(crate) fn of_shell(shell: &ShellRun, now: Instant, width: u16, theme: &Theme) -> Line<'static> {
    let time = now.duration_since(shell.since);
    let (label, hint) = if shell.is_cancelled {
        ("stopping", "")
    } else {
        ("running", " · esc to cancel")
    };
    let rest = format!(" · {}{hint}", elapsed(time));
    line(label, &rest, time, width, theme)
}

fn line(label: &str, rest: &str, time: Duration, width: u16, theme: &Theme) -> Line<'static> {
    let line = Line::from(vec![
        Span::styled(format!("{} ", frame(time)), theme.accent),
        Span::styled(label.to_owned(), theme.text),
        Span::styled(rest.to_owned(), theme.muted),
    ]);
    text::fit_line(&line, width)
}
