//! The delay before a question accepts an answer.

use std::time::{Duration, Instant};

/// How long a question must be visible, with no key pressed, before a key can answer it.
const ANSWER_DELAY: Duration = Duration::from_millis(700);

/// Whether the user has had time to read a question or inserted text. A user who is typing when a
/// question appears has not read it yet, so it accepts no answer until the user has paused.
///
/// The delay starts with the first frame that shows the question, because nothing is drawn while
/// another program uses the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerDelay {
    /// When the question appeared, or when the delay was last restarted. `None` while the question
    /// is not on the screen.
    since: Option<Instant>,
}

impl AnswerDelay {
    /// Records whether the next frame shows the question.
    pub(crate) fn drawn(&mut self, is_visible: bool, now: Instant) {
        self.since = is_visible.then(|| self.since.unwrap_or(now));
    }

    /// Restarts the delay, because the user has pressed a key that was not meant for the question.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.since = self.since.map(|_| now);
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.saturating_duration_since(since) >= ANSWER_DELAY)
    }
}
