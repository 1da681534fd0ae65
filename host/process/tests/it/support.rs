use std::future::Future;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;
use zot_process::{Process, Spawner, Spec};

/// A timeout that is long enough even on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn spawner() -> Spawner {
    Spawner::new().expect("start the spawner's thread")
}

pub(crate) fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").arg("-c").arg(script)
}

/// Takes the process's standard output as lines.
pub(crate) fn lines(process: &mut Process) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(process.take_stdout().expect("taken once")).lines()
}

/// Reads the next line of output.
pub(crate) async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    within(lines.next_line()).await.unwrap().expect("a line")
}

/// Reads the next line of output as a process id.
pub(crate) async fn pid(lines: &mut Lines<BufReader<ChildStdout>>) -> u32 {
    line(lines).await.parse().expect("a process id")
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work)
        .await
        .expect("done in time")
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the fields of `/proc/PID/stat` from the state on: state, parent, group, session.
pub(crate) fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(ToOwned::to_owned).collect())
}

pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// Returns the children of this process, including zombies.
pub(crate) fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| stat(pid).is_some_and(|fields| fields[1] == own))
        .collect()
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Returns a command that runs one test in a copy of this test binary.
pub(crate) fn rerun(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env("ZOT_PROCESS_TEST_ALONE", test)
        .stdin(Stdio::null());
    command
}

/// Runs the named test alone, in a copy of this test binary. Returns `true` in that copy, where the
/// test must run, and `false` in the original after the copy has passed.
pub(crate) fn runs_alone(test: &str) -> bool {
    if std::env::var("ZOT_PROCESS_TEST_ALONE").as_deref() == Ok(test) {
        return true;
    }
    let output = rerun(test).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// Reports whether this process was started to run the helper `part`, as opposed to a run of all
/// tests that includes ignored ones.
pub(crate) fn is_helper(part: &str) -> bool {
    std::env::var("ZOT_PROCESS_TEST_ALONE").as_deref() == Ok(part)
}

pub(crate) fn script(path: &Path, text: impl AsRef<[u8]>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
