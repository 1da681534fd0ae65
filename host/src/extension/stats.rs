//! Statistics of an extension as an interceptor, for display.

use std::{collections::VecDeque, time::Duration};

use super::{chain::InterceptRecord, fold::Verdict};

/// How many latencies to keep for the median.
const RECENT: usize = 256;

/// Statistics of one extension. Uses constant memory.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    asked: u64,
    blocked: u64,
    rewritten: u64,
    failed: u64,
    worst: Duration,
    recent: VecDeque<Duration>,
}

impl Stats {
    /// Adds the record of one event.
    pub fn record(&mut self, record: &InterceptRecord) {
        self.asked += 1;
        match &record.verdict {
            Verdict::Blocked => self.blocked += 1,
            Verdict::Rewritten => self.rewritten += 1,
            Verdict::FailedOpen(_) | Verdict::FailedClosed(_) => self.failed += 1,
            Verdict::Allowed => {}
        }
        self.worst = self.worst.max(record.latency);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(record.latency);
    }

    /// How often it was asked.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// How often it blocked an event.
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// How often it rewrote an event.
    pub fn rewritten(&self) -> u64 {
        self.rewritten
    }

    /// How often it failed to give a valid answer.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The longest latency.
    pub fn worst(&self) -> Duration {
        self.worst
    }

    /// The median of the last 256 latencies; `None` if there is none.
    pub fn median(&self) -> Option<Duration> {
        let mut recent: Vec<Duration> = self.recent.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }
}
