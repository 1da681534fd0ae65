//! `--timeout`: the time by which the whole run must end.

use std::time::Duration;

use tokio::time::Instant;

use crate::exit::Failed;

/// The exit code after `--timeout`; the same as that of `timeout(1)`.
const TIMED_OUT: u8 = 124;

/// The time limit of a run.
#[derive(Debug)]
pub(crate) struct Deadline {
    /// `None` without a timeout, or if it is too long for the clock.
    at: Option<Instant>,
    /// The value of `--timeout`.
    after: Duration,
    has_passed: bool,
}

impl Deadline {
    /// Starts the clock.
    pub(crate) fn start(timeout: Option<Duration>) -> Self {
        Self {
            at: timeout.and_then(|after| Instant::now().checked_add(after)),
            after: timeout.unwrap_or_default(),
            has_passed: false,
        }
    }

    /// Returns the time that is left, or `None` without a deadline.
    pub(super) fn left(&self) -> Option<Duration> {
        let at = self.at?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    /// Waits until the deadline. Never completes if there is none, or after
    /// [`Deadline::set_passed`].
    pub(super) async fn passes(&self) {
        match self.at.filter(|_| !self.has_passed) {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn set_passed(&mut self) {
        self.has_passed = true;
    }

    pub(super) fn has_passed(&self) -> bool {
        self.has_passed
    }

    /// Returns the error for a run that timed out.
    pub(super) fn error(&self) -> Failed {
        let after = humantime::format_duration(self.after);
        Failed::new(TIMED_OUT, format!("timed out after {after}"))
    }
}
