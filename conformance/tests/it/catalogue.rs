//! For each fault, an extension with only this fault fails the check for it, and no other check.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use zot_conform::{Level, catalogue, find};
use zot_test_support::skip::{python, unsupported};

use crate::fixture::{Staged, faults};

/// How many fixtures to run in parallel. They spend about as much time waiting as computing.
const PARALLEL: usize = 6;
/// How many times to retry a fixture with an unexpected result.
const RETRIES: usize = 3;
/// Faulty manifests; the other faults are in `faults.py`.
const MANIFESTS: [(&str, &str); 4] = [
    ("MAN-01", r#"{"name": "broken", "exec": "python3",}"#),
    ("MAN-02", r#"{"name": "broken", "exec": "./broken.py"}"#),
    (
        "MAN-03",
        r#"{"name": "broken", "exec": "python3", "args": "broken.py"}"#,
    ),
    (
        "MAN-04",
        r#"{"name": "../broken", "exec": "python3", "args": ["broken.py"]}"#,
    ),
];
/// Checks that only record a behaviour, and what they record for the fixture.
const RECORDED: [(&str, &str); 3] = [
    ("HEL-06", "it exits (exit status 0)"),
    ("ROB-11", "a blank line: exits (exit status 0)"),
    ("ROB-14", "unknown frame type `status_bar`"),
];

/// How to run one fixture.
struct Trial {
    fault: String,
    /// Additional fields of its manifest.
    manifest: Value,
    scale: &'static str,
    verdict: &'static str,
    exit: i32,
    /// Other rules that the same fault always breaks. These may include a MUST rule only if another
    /// fixture of the same check does not break that rule.
    also: &'static [&'static str],
}

impl Trial {
    fn of(fault: &str) -> Self {
        let unreachable = fault == "HEL-01-waits" || MANIFESTS.iter().any(|(id, _)| *id == fault);
        let (verdict, exit) = match find(check(fault)).map(|check| check.level) {
            _ if unreachable => ("fail", 3),
            // This part of the rule is only a SHOULD.
            _ if fault == "ROB-04-4mib" => ("warn", 0),
            Some(Level::Must) => ("fail", 1),
            Some(Level::Should) => ("warn", 0),
            _ => ("pass", 0),
        };
        // Use shorter timeouts for the fixtures that do not reply. Some faults are in the manifest.
        let (manifest, scale) = match fault {
            "TOL-01" | "ROB-03" | "ROB-08" => (json!({"timeouts": {"tool_ms": 3000}}), "1"),
            "INT-01" | "ROB-06" => (json!({"timeouts": {"intercept_ms": 2000}}), "1"),
            "HEL-01-waits" => (json!({"timeouts": {"hello_ms": 8000}}), "0.5"),
            "MAN-05" => (json!({"permissions": {}}), "1"),
            "MAN-06" => (json!({"desciption": "breaks"}), "1"),
            "MAN-06-permissions" => (json!({"permissions": {"fs": {"reed": ["."]}}}), "1"),
            // Only at this scale do the delays of these fixtures exceed the limits of the checks.
            "INT-05" | "LIF-05" => (json!({}), "0.5"),
            _ => (json!({}), "1"),
        };
        Self {
            fault: fault.to_owned(),
            manifest,
            scale,
            verdict,
            exit,
            also: match fault {
                // If invalid arguments get no reply, they get no error result either.
                "TOL-07" => &["TOL-06"],
                "ROB-04-64k" => &["TOL-05", "INT-07"],
                "ROB-06" => &["INT-07"],
                "ROB-06-tool" => &["TOL-05"],
                "ROB-06-separators" => &["TOL-05", "CMD-05", "INT-07"],
                _ => &[],
            },
        }
    }

    fn run(&self, python: &str) -> Tried {
        let began = Instant::now();
        let manifest = MANIFESTS.iter().find(|(id, _)| *id == self.fault);
        let staged = match manifest {
            Some((_, manifest)) => Staged::with_manifest(manifest),
            None => Staged::with_fault(python, Some(&self.fault), &self.manifest),
        };
        let args = ["--profile", "full", "--report", "json", "--jobs", "4"];
        let output = staged.conform(&[&args[..], &["--timeout-scale", self.scale]].concat());
        let wrong = match serde_json::from_slice(&output.stdout) {
            Ok(report) => self.judge(&report, output.status.code()),
            Err(error) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                vec![format!("no report ({error}): {stderr}")]
            }
        };
        Tried {
            fault: self.fault.clone(),
            wrong,
            took: began.elapsed(),
        }
    }

    /// Returns the unexpected results.
    fn judge(&self, report: &Value, exit: Option<i32>) -> Vec<String> {
        let outcomes = report["outcomes"].as_array().expect("an array");
        let by_id: HashMap<&str, &Value> = outcomes
            .iter()
            .filter_map(|outcome| Some((outcome["id"].as_str()?, outcome)))
            .collect();
        let mut wrong = Vec::new();
        if exit != Some(self.exit) {
            wrong.push(format!("exit code {exit:?}, not {}", self.exit));
        }
        if by_id.len() != catalogue().count() {
            wrong.push(format!("{} outcomes", by_id.len()));
        }
        for (id, outcome) in &by_id {
            let verdict = outcome["verdict"].as_str().unwrap_or_default();
            let fine = if *id == "MAN-05" && verdict == "not_exercised" {
                // The kernel cannot enforce permissions here.
                unsupported(format!("MAN-05: {}", outcome["findings"][0]["what"]));
                true
            } else if *id == check(&self.fault) {
                verdict == self.verdict && self.is_recorded(outcome)
            } else {
                match verdict {
                    "pass" | "not_applicable" | "withheld" => true,
                    "blocked" => {
                        let root = root(id, &by_id);
                        root == check(&self.fault) || self.also.contains(&root)
                    }
                    "fail" | "warn" => self.also.contains(id),
                    _ => false,
                }
            };
            if !fine {
                let by = outcome.get("blocked_by").unwrap_or(&Value::Null);
                wrong.push(format!("{id} {verdict} {by}: {}", outcome["findings"]));
            }
        }
        wrong
    }

    fn is_recorded(&self, outcome: &Value) -> bool {
        let expected = RECORDED.iter().find(|(id, _)| *id == self.fault);
        let what = outcome["findings"][0]["what"].as_str().unwrap_or_default();
        expected.is_none_or(|(_, text)| what.contains(text))
    }
}

/// The result of one fixture.
struct Tried {
    fault: String,
    wrong: Vec<String>,
    took: Duration,
}

/// Returns `HEL-01` for `HEL-01-waits`.
fn check(fault: &str) -> &str {
    fault.get(..6).unwrap_or(fault)
}

/// Follows `blocked_by` to the check that started the chain, and returns its id.
fn root<'a>(mut id: &'a str, outcomes: &HashMap<&str, &'a Value>) -> &'a str {
    for _ in 0..outcomes.len() {
        match outcomes.get(id).and_then(|it| it["blocked_by"].as_str()) {
            Some(blocker) => id = blocker,
            None => break,
        }
    }
    id
}

/// Runs all trials on a few threads.
fn run_all(all: &[Trial], python: &str) -> Vec<Tried> {
    let next = AtomicUsize::new(0);
    let tried = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some(trial) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = trial.run(python);
                    tried.lock().expect("no panic").push(done);
                }
            });
        }
    });
    tried.into_inner().expect("no panic")
}

#[test]
fn catalogue_each_check_fails_alone() {
    let Some(python) = python() else {
        return;
    };
    let mut fixtures = faults(python);
    fixtures.extend(MANIFESTS.map(|(id, _)| id.to_owned()));
    let covered: BTreeSet<&str> = fixtures.iter().map(|it| check(it)).collect();
    let checks: BTreeSet<&str> = catalogue().map(|check| check.id).collect();
    assert_eq!(covered, checks, "each check needs a fixture");

    let all: Vec<Trial> = fixtures.iter().map(|fault| Trial::of(fault)).collect();
    let began = Instant::now();
    let mut tried = run_all(&all, python);
    // On a busy machine, a fixture may fail by chance, so retry it alone.
    for _ in 0..RETRIES {
        for done in tried.iter_mut().filter(|done| !done.wrong.is_empty()) {
            eprintln!("retrying: {} {}", done.fault, done.wrong.join("\n  "));
            *done = Trial::of(&done.fault).run(python);
        }
    }
    tried.sort_by(|a, b| a.fault.cmp(&b.fault));
    let mut wrong = String::new();
    for done in &tried {
        let verdict = Trial::of(&done.fault).verdict;
        eprintln!(
            "{:<18} {verdict:<5} {:.1} s",
            done.fault,
            done.took.as_secs_f64()
        );
        for what in &done.wrong {
            wrong += &format!("{}: {what}\n", done.fault);
        }
    }
    eprintln!(
        "{} fixtures in {:.1} s",
        tried.len(),
        began.elapsed().as_secs_f64()
    );
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn catalogue_the_good_extension_passes_everything() {
    let Some(python) = python() else {
        return;
    };
    let staged = Staged::with_fault(python, None, &json!({"permissions": {}}));
    // Use a generous time scale, because the machine may be busy.
    let args = ["--profile", "full", "--report", "json"];
    let output = staged.conform(&[&args[..], &["--timeout-scale", "3"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    for outcome in report["outcomes"].as_array().expect("an array") {
        let id = outcome["id"].as_str().expect("an id");
        match outcome["verdict"].as_str() {
            Some("pass") => {}
            Some("not_exercised") if id == "MAN-05" => {
                unsupported(format!("MAN-05: {}", outcome["findings"][0]["what"]));
            }
            verdict => panic!("{id}: {verdict:?} {}", outcome["findings"]),
        }
    }
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(staged.left(), Vec::<String>::new());
}
