//! Whatever an extension says, the harness lives, ends in time, and finds the fault with the extension.

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

use crate::{fixture::python, support::build};

/// How many are tried at once: they wait as much as they work.
const AT_ONCE: usize = 6;
/// What a run may take when every deadline is a hundredth, on a machine that is busy with everything else.
const HANG: Duration = Duration::from_secs(120);

/// How one run ended.
struct Ended {
    folder: TempDir,
    took: Duration,
    /// `None`: it had to be killed.
    code: Option<i32>,
    out: String,
    err: String,
}

/// One run on this extension, told in every form.
fn run(manifest: &Value, script: &str, timing: &[&str]) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
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
            None if began.elapsed() > HANG => {
                child.kill().expect("killed");
                child.wait().expect("ended");
                break None;
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    Ended {
        folder,
        took: began.elapsed(),
        code: status.and_then(|status| status.code()),
        out: out.join().expect("read"),
        err: err.join().expect("read"),
    }
}

fn text_of(mut pipe: impl Read) -> String {
    let mut text = String::new();
    pipe.read_to_string(&mut text).expect("a text in UTF-8");
    text
}

impl Ended {
    /// What should not have been.
    fn wrong(&self) -> Option<String> {
        // Conforms, does not, or could not shake hands: anything else would be about the harness.
        if !matches!(self.code, Some(0 | 1 | 3)) || self.err.contains("panicked") {
            return Some(format!("exit {:?}\n{}", self.code, self.err));
        }
        let control = |it: &char| it.is_control() && *it != '\n';
        if let Some(control) = self.out.chars().find(control) {
            return Some(format!("{control:?} reaches the terminal"));
        }
        let report = fs::read(self.folder.path().join("json")).expect("a report");
        match serde_json::from_slice::<Value>(&report) {
            Ok(report) if report["outcomes"][0].is_object() => None,
            Ok(_) => Some("a report of nothing".to_owned()),
            Err(error) => Some(format!("the report is not JSON: {error}")),
        }
    }
}

/// How many seeds: a few each time, and all of them where soaks run longer, in `.ci/full`.
fn seeds() -> u64 {
    let soak: u64 = std::env::var("ZOT_SOAK").map_or(1, |times| times.parse().expect("a number"));
    if soak > 1 { 2_000 } else { 60 }
}

fn babbler() -> PathBuf {
    build(&["-p", "zot-conform", "--example", "babbler"]).join("examples/babbler")
}

#[test]
fn no_nonsense_harms_the_harness() {
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
            let ended = run(&manifest, "", &["--timeout-scale", "0.01"]);
            let told = (seed, ended.took, ended.code, ended.wrong());
            all.lock().expect("no panic").push(told);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(try_on);
        }
    });
    let all = all.into_inner().expect("no panic");
    let slowest = all.iter().max_by_key(|(_, took, ..)| *took);
    let slowest = slowest.expect("there are seeds");
    let of_code = |wanted| all.iter().filter(|it| it.2 == Some(wanted)).count();
    eprintln!(
        "{count} seeds in {:.0} s: {} conform, {} do not, {} do not shake hands; the slowest, {}, took {:.1} s",
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
    assert!(of_code(1) > of_code(3), "most are to be reached");
}

/// A deadline holds for one that never stops talking, as fast as it can or now and then.
#[test]
fn whoever_talks_for_ever_is_not_listened_to_for_ever() {
    let Some(python) = python() else { return };
    let manifest = json!({"name": "talker", "exec": python, "args": ["-S", "-E", "main.py"]});
    // Short deadlines, but for the start: the machine may be busy.
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
        let ended = run(&manifest, &script, &timing);
        // Given up on at once, or by one check after the other: that is how fast the machine is.
        assert!(
            matches!(ended.code, Some(1 | 3)),
            "{}{}",
            ended.out,
            ended.err
        );
        assert!(
            ended.out.contains("it never says `ready`")
                || ended.out.contains("it floods its stdout"),
            "{}",
            ended.out
        );
        eprintln!("{pause:?} took {:.1} s", ended.took.as_secs_f64());
    }
}
