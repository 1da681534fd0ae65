//! Statistics of an extension as an interceptor, for display.

use std::{collections::VecDeque, time::Duration};

use super::{
    chain::InterceptRecord,
    fold::{Failure, Verdict},
};

/// How many latencies to keep for the median.
const RECENT: usize = 256;

/// Statistics of one extension. Uses constant memory.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// How often it was asked about an event, including attempts that failed.
    pub asked: u64,
    /// How often it blocked an event.
    pub blocked: u64,
    /// How often it rewrote an event.
    pub rewritten: u64,
    /// How often it failed to give a valid answer.
    pub failed: u64,
    /// The longest latency.
    pub worst: Duration,
    recent: VecDeque<Duration>,
}

impl Stats {
    /// Adds the record of one event.
    pub fn record(&mut self, record: &InterceptRecord) {
        match &record.verdict {
            // In audit mode, nothing is blocked or rewritten.
            Verdict::Blocked | Verdict::Rewritten if record.is_audit => {}
            Verdict::Blocked => self.blocked += 1,
            Verdict::Rewritten => self.rewritten += 1,
            Verdict::FailedOpen(failure) | Verdict::FailedClosed(failure) => {
                self.failed += 1;
                // It was never asked, so it has no latency.
                if matches!(failure, Failure::NotReady | Failure::ChainTimeout(_)) {
                    return;
                }
            }
            Verdict::Allowed => {}
        }
        self.asked += 1;
        self.worst = self.worst.max(record.latency);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(record.latency);
    }

    /// The median of the last 256 latencies; `None` if there are none.
    pub fn median(&self) -> Option<Duration> {
        let mut recent: Vec<Duration> = self.recent.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }
}
