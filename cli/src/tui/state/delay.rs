//! The delay before a question accepts an answer.

use std::time::{Duration, Instant};

/// How long something must be visible before a key can answer it.
const ANSWER_DELAY: Duration = Duration::from_millis(700);

/// Whether the user has had time to read something. A user who is typing when a question appears
/// has not read it yet, so it accepts no answer at first.
///
/// The time counts from the first frame that shows it, because nothing is drawn while another
/// program uses the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerDelay {
    /// `None` while it is not on the screen.
    since: Option<Instant>,
}

impl AnswerDelay {
    /// Records whether the next frame shows it.
    pub(crate) fn drawn(&mut self, is_visible: bool, now: Instant) {
        self.since = is_visible.then(|| self.since.unwrap_or(now));
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.saturating_duration_since(since) >= ANSWER_DELAY)
    }
}
