//! Who runs on which core.
//!
//! Left alone, the system runs both sides of a pipe on one core, or each on its own: the same round trip then takes 5 or 50
//! microseconds, whatever is in between. A pair that does nothing else is mostly kept apart. After a pause a virtual machine avoids to wake
//! a core that has gone to sleep, and both run on one. So rows say how the pairs were run.

use std::fs;

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Where the sides of a round trip run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Each side on a core of its own: the other one is asleep and must be woken.
    Apart,
    /// Wherever the system likes.
    Any,
}

const OURS: usize = 0;
const THEIRS: &str = "1";
/// What an extension is told its core by.
pub(crate) const FLAG: &str = "--core";

impl Cores {
    /// Whether this machine has as many.
    pub(crate) fn are_there(self) -> bool {
        let all = sched_getaffinity(None).expect("known");
        self == Self::Any || (all.is_set(0) && all.is_set(1))
    }

    /// What the other side is started with besides.
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Self::Apart => &[FLAG, THEIRS],
            Self::Any => &[],
        }
    }

    /// Keeps all threads of this program, as many as there are by now, where they belong until the value is dropped.
    pub(crate) fn keep(self) -> Kept {
        let before = sched_getaffinity(None).expect("known");
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

/// On this core alone, from the start on: the other side.
pub(crate) fn stay_on(core: &str) {
    let core = core.parse().expect("the number of a core");
    sched_setaffinity(None, &one(core)).expect("there is such a core");
}

fn one(core: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(core);
    cores
}

fn run_on(cores: &CpuSet) {
    for thread in fs::read_dir("/proc/self/task").expect("there is /proc") {
        let id = thread.expect("a thread").file_name();
        let id = id.to_string_lossy().parse().expect("a number");
        // One that has ended meanwhile runs nowhere.
        let _ = sched_setaffinity(Pid::from_raw(id), cores);
    }
}
