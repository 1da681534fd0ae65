//! One timer for all that may become due.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

/// Longer than any connection lasts.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A timer that is set again and again, mostly to what it is set to already, and then costs nothing.
pub(super) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    set_to: Option<Instant>,
}

impl Alarm {
    pub(super) fn new() -> Self {
        Self {
            sleep: Box::pin(sleep_until(Instant::now() + FAR)),
            set_to: None,
        }
    }

    /// Rings at this time, or never.
    pub(super) fn set(&mut self, at: Option<Instant>) {
        // Set back to never, it rings once more for nothing: cheaper than to stop it for each request.
        if let Some(at) = at
            && self.set_to != Some(at)
        {
            self.sleep.as_mut().reset(at);
        }
        self.set_to = at.or(self.set_to);
    }

    /// Resolves when it rings, once.
    pub(super) async fn rings(&mut self) {
        if self.set_to.is_none() {
            return std::future::pending().await;
        }
        self.sleep.as_mut().await;
        self.set_to = None;
    }
}
