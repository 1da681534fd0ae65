//! CPU pinning for both sides of a round trip.
//!
//! Left to itself, the scheduler runs both sides of a pipe on one core or on two, and the same
//! round trip then takes 5 or 50 microseconds regardless of the host. A pair of otherwise idle
//! processes usually ends up on two cores. After a pause, a virtual machine avoids waking a
//! sleeping core and runs both on one. Each row therefore says how its pairs were placed.

use std::fs;

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Core placement of the two sides of a round trip.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Each side has its own core, so the other one is asleep and must be woken.
    Apart,
    /// The scheduler decides.
    Any,
}

const OURS: usize = 0;
const THEIRS: &str = "1";
/// Flag that passes the core number to an extension.
pub(crate) const FLAG: &str = "--core";

impl Cores {
    /// Reports whether this machine has enough cores.
    pub(crate) fn are_there(self) -> bool {
        let all = sched_getaffinity(None).unwrap();
        self == Self::Any || (all.is_set(0) && all.is_set(1))
    }

    /// Returns the extra arguments for the other side.
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Self::Apart => &[FLAG, THEIRS],
            Self::Any => &[],
        }
    }

    /// Pins all current threads of this process until the returned guard is dropped.
    pub(crate) fn keep(self) -> Kept {
        let before = sched_getaffinity(None).unwrap();
        if self == Self::Apart {
            run_on(&one(OURS));
        }
        Kept(before)
    }
}

pub(crate) struct Kept(CpuSet);

impl Drop for Kept {
    fn drop(&mut self) {
        run_on(&self.0);
    }
}

/// Pins the calling process to one core. Used by the extension side.
pub(crate) fn stay_on(core: &str) {
    let core = core.parse().unwrap();
    sched_setaffinity(None, &one(core)).unwrap();
}

fn one(core: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(core);
    cores
}

fn run_on(cores: &CpuSet) {
    for thread in fs::read_dir("/proc/self/task").unwrap() {
        let id = thread.unwrap().file_name();
        let id = id.to_string_lossy().parse().unwrap();
        // A thread that has exited in the meantime cannot be pinned.
        let _ = sched_setaffinity(Pid::from_raw(id), cores);
    }
}
