//! Memory use of a process.

use std::fs;

use super::{RunOutput, World, text};

/// Returns the current resident memory in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    field(pid, "VmRSS:")
}

/// Returns the peak resident memory in bytes.
pub(crate) fn most_resident(pid: u32) -> u64 {
    field(pid, "VmHWM:")
}

fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("process has exited");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.expect("no size in /proc status")
        .parse::<u64>()
        .expect("should be a number")
        * 1024
}

/// Runs `zot` with a limited address space, and returns its peak resident memory in bytes. Python
/// starts it, because the `ru_maxrss` of a process forked from the test binary would include the
/// test's memory.
pub(crate) fn peak(world: &World, address_space: u64, args: &[&str]) -> (RunOutput, u64) {
    const MEASURE: &str = "
import resource, subprocess, sys
most = int(sys.argv[1])
bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
code = subprocess.run(sys.argv[3:], preexec_fn=bound).returncode
with open(sys.argv[2], 'w') as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code & 0xff)
";
    let report = world.path("peak");
    let output = world
        .command("python3")
        .args(["-c", MEASURE, &address_space.to_string(), text(&report)])
        .arg(env!("CARGO_BIN_EXE_zot"))
        .args(args)
        .output()
        .expect("failed to start python3");
    let kib = fs::read_to_string(&report).expect("failed to read peak memory");
    fs::remove_file(report).expect("failed to remove");
    (
        RunOutput::of(output),
        kib.parse::<u64>().expect("should be a number") * 1024,
    )
}
