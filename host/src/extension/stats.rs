//! How an extension has fared as an interceptor, for a UI to show.

use std::{collections::VecDeque, time::Duration};

use super::{chain::Link, fold::Verdict};

/// How many latencies the median is taken over.
const RECENT: usize = 256;

/// Running figures of one extension; its size does not grow.
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
    /// Takes in what the extension did in one chain.
    pub fn record(&mut self, link: &Link) {
        self.asked += 1;
        match &link.verdict {
            Verdict::Blocked => self.blocked += 1,
            Verdict::Rewritten => self.rewritten += 1,
            Verdict::FailedOpen(_) | Verdict::FailedClosed(_) => self.failed += 1,
            Verdict::Allowed => {}
        }
        self.worst = self.worst.max(link.latency);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(link.latency);
    }

    /// How often it was asked.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// How often it refused.
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// How often it changed something.
    pub fn rewritten(&self) -> u64 {
        self.rewritten
    }

    /// How often it gave no answer that counts.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The longest it has ever taken.
    pub fn worst(&self) -> Duration {
        self.worst
    }

    /// The median of the last 256 times; `None` before the first.
    pub fn median(&self) -> Option<Duration> {
        let mut recent: Vec<Duration> = self.recent.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }
}
