//! Widgets, one per file. Each turns a part of the state into screen lines.

pub(crate) mod confirm;
pub(crate) mod editor;
pub(crate) mod extensions;
pub(crate) mod item;
pub(crate) mod login;
pub(crate) mod notes;
pub(crate) mod outputs;
pub(crate) mod panel;
pub(crate) mod picker;
pub(crate) mod popup;
pub(crate) mod queue;
pub(crate) mod rule;
pub(crate) mod spinner;
pub(crate) mod status;
pub(crate) mod thought;
pub(crate) mod tool;
pub(crate) mod trust;

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::{text, theme::Theme};

/// Returns the range of rows to show from a long list. It includes the selected row.
pub(crate) fn window(at: usize, count: usize, room: usize) -> std::ops::Range<usize> {
    let room = room.min(count);
    let start = at.saturating_sub(room / 2).min(count - room);
    start..start + room
}

/// Returns the marker in front of a selectable row, and the row's name.
pub(crate) fn selectable(name: String, chosen: bool, theme: &Theme) -> [Span<'static>; 2] {
    let (mark, style) = if chosen {
        ("› ", theme.selected)
    } else {
        ("  ", theme.text)
    };
    [Span::styled(mark, theme.accent), Span::styled(name, style)]
}

/// Returns the possible answers to a question with their keys, or blank lines while the question
/// does not accept an answer.
pub(crate) fn answers(
    answers: &[(&str, &str)],
    selected: usize,
    accepts: bool,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let line = |(at, (key, answer)): (usize, &(&str, &str))| {
        if !accepts {
            return Line::default();
        }
        let [mark, answer] = selectable((*answer).to_owned(), at == selected, theme);
        let key = Span::styled(format!("{key}  "), theme.muted);
        text::fit_line(&Line::from(vec![mark, key, answer]), width)
    };
    answers.iter().enumerate().map(line).collect()
}

/// Formats a duration as `4s` or `1m 04s`.
pub(crate) fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_visible() {
        assert_eq!(window(0, 20, 5), 0..5);
        assert_eq!(window(10, 20, 5), 8..13);
        assert_eq!(window(19, 20, 5), 15..20);
        assert_eq!(window(1, 2, 5), 0..2);
        assert_eq!(window(3, 0, 5), 0..0);
    }

    #[test]
    fn elapsed_times_are_formatted() {
        assert_eq!(elapsed(Duration::from_millis(4_900)), "4s");
        assert_eq!(elapsed(Duration::from_secs(64)), "1m 04s");
    }
}
