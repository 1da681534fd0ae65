//! Process information from `/proc`.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// Returns the state and the parent of a process, or `None` if it does not exist.
fn stat(pid: &str) -> Option<(char, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.to_owned()))
}

/// Returns the state letter: `S` sleeping, `R` running, `T` stopped, `Z` zombie.
pub(crate) fn state_of(pid: &str) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// Reports whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

fn all() -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc should be mounted");
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// Describes a process for a failure message.
fn describe(pid: &str) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{pid} ({:?}) {line}", state_of(pid))
}

/// The children of this process, including zombies.
pub(crate) fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    all()
        .iter()
        .filter(|pid| stat(pid).is_some_and(|(_, parent)| parent == own))
        .map(|pid| describe(pid))
        .collect()
}

/// The processes whose working directory is in `folder`, whatever their parent.
pub(crate) fn processes_in(folder: &Path) -> Vec<String> {
    all()
        .iter()
        .filter(|pid| is_alive(pid))
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .map(|pid| describe(pid))
        .collect()
}

/// Sends a signal by name. Returns `false` if the process does not exist.
pub(crate) fn signal(pid: &str, name: &str) -> bool {
    Command::new("kill")
        .args([&format!("-{name}"), pid])
        .stderr(Stdio::null())
        .status()
        .expect("kill")
        .success()
}

/// Returns the peak resident set size (`VmHWM`) of this process, in KiB.
pub(crate) fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("/proc should be mounted");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak = peak.trim().trim_end_matches(" kB");
    peak.parse().unwrap()
}
