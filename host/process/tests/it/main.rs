//! Tests with real processes, through the public API. A test stops everything that it starts, and
//! waits for conditions instead of sleeping.
//!
//! Some tests count the resources of the whole process (descriptors, children, threads) or change
//! its settings. Each of these runs alone in a copy of this test binary: see `support::runs_alone`.

#[cfg(target_os = "linux")]
mod confine;
mod ending;
mod exit;
mod host;
mod leaks;
mod log;
mod many;
mod orphans;
mod spawn;
mod support;
