//! Real processes, through the public door. What a test starts it also ends, and it waits for conditions.
//!
//! Some tests count what the whole process has (descriptors, children, threads) or change its settings. Those run
//! alone, each in a copy of this test binary: see `support::alone`.

#[cfg(target_os = "linux")]
mod confine;
mod ending;
mod exit;
mod host;
mod leaks;
mod log;
mod orphans;
mod spawn;
mod support;
mod swarm;
