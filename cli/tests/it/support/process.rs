//! Sends signals to processes, and reads `/proc`.

use std::{fs, path::Path, process::Child};

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to a child process.
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("failed to send signal");
}

/// Returns the live processes whose working directory is below `folder`, as `PID COMMAND LINE`.
pub(crate) fn working_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("failed to read /proc");
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .filter(|pid| is_alive(pid))
        .map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!(
                "{pid} {}",
                String::from_utf8_lossy(&line).replace('\0', " ")
            )
        })
        .collect()
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
