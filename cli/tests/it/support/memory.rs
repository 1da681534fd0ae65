//! How much memory a process has.

use std::fs;

/// What is resident of it, in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    field(pid, "VmRSS:")
}

/// The most that was ever resident of it, in bytes.
pub(crate) fn most_resident(pid: u32) -> u64 {
    field(pid, "VmHWM:")
}

fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.expect("a size").parse::<u64>().expect("a number") * 1024
}
