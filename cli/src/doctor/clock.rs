//! Measures how long each extension takes to send `hello` and `ready`.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::Deserialize;
use zot_host::extension::connection::Tap;

/// A clock that starts when it is created.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    times: Mutex<HashMap<String, Times>>,
}

/// How long an extension took to start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// The time until the extension sent `hello`; `None` if it sent none.
    pub(crate) hello: Option<Duration>,
    /// The time until the extension sent `ready`. `None` if it sent none; the host then assumes
    /// readiness after a timeout.
    pub(crate) ready: Option<Duration>,
}

#[derive(Deserialize)]
struct Frame<'f> {
    #[serde(rename = "type", borrow)]
    kind: &'f str,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            times: Mutex::default(),
        }
    }

    pub(super) fn of(&self, extension: &str) -> Times {
        self.times
            .lock()
            .get(extension)
            .copied()
            .unwrap_or_default()
    }
}

impl Tap for Clock {
    fn received(&self, extension: &str, line: &[u8]) {
        let now = self.start.elapsed();
        let mut all = self.times.lock();
        let times = all.entry(extension.to_owned()).or_default();
        if times.ready.is_some() {
            return;
        }
        match serde_json::from_slice::<Frame<'_>>(line) {
            Ok(Frame { kind: "hello" }) => {
                times.hello.get_or_insert(now);
            }
            Ok(Frame { kind: "ready" }) => times.ready = Some(now),
            _ => {}
        }
    }

    fn sent(&self, _: &str, _: &[u8]) {}
}
