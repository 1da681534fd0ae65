//! Widgets, one per file: each turns a part of the state into lines of the screen.

pub(crate) mod confirm;
pub(crate) mod editor;
pub(crate) mod extensions;
pub(crate) mod item;
pub(crate) mod login;
pub(crate) mod notes;
pub(crate) mod panel;
pub(crate) mod picker;
pub(crate) mod popup;
pub(crate) mod queue;
pub(crate) mod rule;
pub(crate) mod spinner;
pub(crate) mod status;
pub(crate) mod tool;
pub(crate) mod trust;

use std::time::Duration;

/// Returns the visible rows of a long list, such that the selected row is among them.
pub(crate) fn window(at: usize, count: usize, room: usize) -> std::ops::Range<usize> {
    let room = room.min(count);
    let start = at.saturating_sub(room / 2).min(count - room);
    start..start + room
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
