//! One timer for all deadlines of a connection.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

/// Longer than any connection lasts.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A timer that is cheap to set repeatedly. Setting it to the same time again costs nothing.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    set_to: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> Self {
        Self {
            sleep: Box::pin(sleep_until(Instant::now() + FAR)),
            set_to: None,
        }
    }

    /// Sets the time. `None` means never.
    pub(super) fn set(&mut self, at: Option<Instant>) {
        // With `None`, the timer still fires once more, which is cheaper than resetting it for each
        // request.
        if let Some(at) = at
            && self.set_to != Some(at)
        {
            self.sleep.as_mut().reset(at);
        }
        self.set_to = at.or(self.set_to);
    }

    /// Resolves once, when the time is reached.
    pub(super) async fn elapsed(&mut self) {
        if self.set_to.is_none() {
            return std::future::pending().await;
        }
        self.sleep.as_mut().await;
        self.set_to = None;
    }
}
