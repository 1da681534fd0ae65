//! `--watch` runs the checks again when a file changes.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use zot_test_support::skip::search_path;

use crate::support::Extension;

const GOOD: &str = r#"
import sys
print('{"type":"hello","name":"watched"}', flush=True)
print('{"type":"ready"}', flush=True)
for line in sys.stdin:
    if '"shutdown"' in line:
        print('{"type":"shutdown_ack"}', flush=True)
        break
"#;

/// Kills the process when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_change_starts_a_new_run_but_own_output_does_not() {
    let extension = Extension::python("watched", GOOD);
    let mut child = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
        .arg(extension.dir())
        .args([
            "--watch",
            "--profile",
            "quick",
            "--strict",
            "--timeout-scale",
            "4",
        ])
        .env("PATH", search_path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("zot-conform starts");
    let stdout = child.stdout.take().expect("piped");
    let _running = Running(child);
    let (to, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = to.send(line);
        }
    });

    assert_eq!(verdict(&lines), "conforms");
    extension.rewrite(&GOOD.replace("watched", "another"));
    assert_eq!(verdict(&lines), "does not conform");
    extension.rewrite(GOOD);
    assert_eq!(verdict(&lines), "conforms");
    // No file has changed since, so the checks are not run again.
    let more = lines.recv_timeout(Duration::from_secs(2));
    assert!(more.is_err(), "{more:?}");
}

fn verdict(lines: &Receiver<String>) -> String {
    loop {
        let line = lines
            .recv_timeout(Duration::from_secs(60))
            .expect("a report");
        if let Some((verdict, _)) = line.split_once(": ")
            && verdict.ends_with("conform") | verdict.ends_with("conforms")
        {
            return verdict.to_owned();
        }
    }
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    // The extension never replies to its command, so the run lasts long enough to be interrupted.
    let silent = GOOD.replace("\"ready\"", "\"register_command\",\"name\":\"hush\"");
    let extension = Extension::python("watched", &silent);
    let tmp = extension.path("tmp");
    std::fs::create_dir(&tmp).expect("a directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
        .arg(extension.dir())
        .args(["--only", "CMD-01", "--verbose"])
        .env("TMPDIR", &tmp)
        .env("PATH", search_path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("zot-conform starts");
    let stdout = child.stdout.take().expect("piped");
    let mut running = Running(child);
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("command_invoked")));
    let pid = rustix::process::Pid::from_child(&running.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("alive");
    let status = running.0.wait().expect("ends");
    assert_eq!(status.code(), Some(130));
    let left: Vec<_> = std::fs::read_dir(&tmp).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}
