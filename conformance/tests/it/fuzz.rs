//! Fuzzes the harness with random extensions: it must not crash or hang, and must blame the
//! extension.

use std::{
    fs,
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use zot_test_support::skip::python;

use crate::support::build;

/// How many extensions to run in parallel. They spend about as much time waiting as computing.
const PARALLEL: usize = 6;
/// Time limit for a run with all deadlines scaled to a hundredth, on a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// The result of one run.
struct Finished {
    folder: TempDir,
    took: Duration,
    /// `None` if it had to be killed.
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs `zot-conform` on this extension with every report format.
fn run(manifest: &Value, script: &str, timing: &[&str]) -> Finished {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("extension.json"), manifest.to_string()).expect("a manifest");
    fs::write(folder.path().join("main.py"), script).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_zot-conform"));
    command
        .arg(folder.path())
        .args(["--profile", "full", "--report", "pretty"])
        .args(timing)
        .env("ZOT_HOME", folder.path().join("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for form in ["json", "junit", "tap", "github", "html"] {
        let file = folder.path().join(form);
        command.args(["--report", &format!("{form}={}", file.display())]);
    }
    let began = Instant::now();
    let mut child = command.spawn().expect("zot-conform starts");
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let out = thread::spawn(move || text_of(out.expect("piped")));
    let err = thread::spawn(move || text_of(err.expect("piped")));
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break Some(status),
            None if began.elapsed() > RUN_TIMEOUT => {
                child.kill().expect("killed");
                child.wait().expect("finished");
                break None;
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    Finished {
        folder,
        took: began.elapsed(),
        code: status.and_then(|status| status.code()),
        out: out.join().expect("read"),
        err: err.join().expect("read"),
    }
}

fn text_of(mut pipe: impl Read) -> String {
    let mut text = String::new();
    pipe.read_to_string(&mut text).expect("valid UTF-8");
    text
}

impl Finished {
    /// Returns what is wrong with the run, if anything.
    fn wrong(&self) -> Option<String> {
        // Conforms, does not conform, or handshake failed. Any other code would be a fault of the
        // harness.
        if !matches!(self.code, Some(0 | 1 | 3)) || self.err.contains("panicked") {
            return Some(format!("exit {:?}\n{}", self.code, self.err));
        }
        let control = |it: &char| it.is_control() && *it != '\n';
        if let Some(control) = self.out.chars().find(control) {
            return Some(format!("{control:?} reached the terminal"));
        }
        let report = fs::read(self.folder.path().join("json")).expect("a report");
        match serde_json::from_slice::<Value>(&report) {
            Ok(report) if report["outcomes"][0].is_object() => None,
            Ok(_) => Some("the report is empty".to_owned()),
            Err(error) => Some(format!("the report is not JSON: {error}")),
        }
    }
}

/// Number of seeds: a few by default, more with `ZOT_SOAK`, as in `.ci/full`.
fn seeds() -> u64 {
    let soak: u64 = std::env::var("ZOT_SOAK").map_or(1, |times| times.parse().expect("a number"));
    if soak > 1 { 2_000 } else { 60 }
}

fn babbler() -> PathBuf {
    build(&["-p", "zot-conform", "--example", "babbler"]).join("examples/babbler")
}

#[test]
fn random_extensions_do_not_break_the_harness() {
    let program = babbler();
    let count = seeds();
    let next = AtomicU64::new(0);
    let all = Mutex::new(Vec::new());
    let began = Instant::now();
    let try_on = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= count {
                break;
            }
            let args = [seed.to_string()];
            let manifest = json!({"name": "babbler", "exec": program, "args": args});
            let finished = run(&manifest, "", &["--timeout-scale", "0.01"]);
            let result = (seed, finished.took, finished.code, finished.wrong());
            all.lock().expect("no panic").push(result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(try_on);
        }
    });
    let all = all.into_inner().expect("no panic");
    let slowest = all.iter().max_by_key(|(_, took, ..)| *took);
    let slowest = slowest.expect("there are seeds");
    let of_code = |wanted| all.iter().filter(|it| it.2 == Some(wanted)).count();
    eprintln!(
        "{count} seeds in {:.0} s: {} conform, {} do not, {} failed the handshake; the slowest, {}, took {:.1} s",
        began.elapsed().as_secs_f64(),
        of_code(0),
        of_code(1),
        of_code(3),
        slowest.0,
        slowest.1.as_secs_f64(),
    );
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|(seed, .., wrong)| Some(format!("seed {seed}: {}", wrong.as_ref()?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        of_code(1) > of_code(3),
        "most extensions must get past the handshake"
    );
}

/// Deadlines are enforced even if the extension never stops sending, with or without pauses.
#[test]
fn an_extension_that_never_stops_sending_is_given_up_on() {
    let Some(python) = python() else { return };
    let manifest = json!({"name": "talker", "exec": python, "args": ["-S", "-E", "main.py"]});
    // Use short deadlines, except for the start, because the machine may be busy.
    let timing = ["--timeout-scale", "0.2", "--startup-timeout", "300"];
    for pause in ["", "time.sleep(0.005)"] {
        let script = format!(
            r#"
import sys, time
print('{{"type":"hello","name":"talker"}}', flush=True)
while True:
    sys.stdout.write('{{"type":"notify","level":"info","message":"x"}}\n')
    sys.stdout.flush()
    {pause}
"#
        );
        let finished = run(&manifest, &script, &timing);
        // Whether the handshake or only later checks fail depends on the speed of the machine.
        assert!(
            matches!(finished.code, Some(1 | 3)),
            "{}{}",
            finished.out,
            finished.err
        );
        assert!(
            finished.out.contains("it never sends `ready`")
                || finished.out.contains("it flooded stdout"),
            "{}",
            finished.out
        );
        eprintln!("{pause:?} took {:.1} s", finished.took.as_secs_f64());
    }
}
