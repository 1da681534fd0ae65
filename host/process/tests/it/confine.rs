//! What a confined process can and cannot do, tested with real programs. Each denied action is also
//! shown to work without the confinement or with the right grant, so that a test cannot pass
//! because the action fails for another reason.

mod escape;
mod files;
mod lifecycle;
mod network;
mod runtimes;
mod shebang;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zot_process::{Confinement, Spec, Support};
use zot_test_support::skip::{find, python, unsupported};

use crate::support::{spawner, within};

const PROBE: &str = include_str!("confine/probe.py");

/// Where an action is attempted: in the process itself, in a child, or in a daemon.
const WAYS: [&str; 3] = ["self", "child", "daemon"];

/// Returns a confinement that grants nothing. Returns `None` and prints why if the kernel cannot
/// enforce it fully.
fn narrow() -> Option<Confinement> {
    let confinement = Confinement::new(Support::probe());
    if !confinement.enforced().is_full() {
        unsupported(Support::probe());
        return None;
    }
    Some(confinement)
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        unsupported("not root");
    }
    root
}

/// Returns a spec that runs one test in a copy of this test binary, like `support::rerun`.
fn rerun_spec(test: &str) -> Spec {
    Spec::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env("ZOT_PROCESS_TEST_ALONE", test)
}

/// Runs a process and returns its standard output followed by its standard error.
async fn output(spec: Spec) -> String {
    output_for(spec, "").await
}

/// Like [`output`], for a process that reads `input`.
async fn output_for(spec: Spec, input: &str) -> String {
    let mut process = spawner().spawn(spec).await.unwrap();
    let mut stdin = process.take_stdin().unwrap();
    if !input.is_empty() {
        stdin.write_all(input.as_bytes()).await.unwrap();
    }
    drop(stdin);
    let mut text = String::new();
    let mut stdout = process.take_stdout().unwrap();
    within(stdout.read_to_string(&mut text)).await.unwrap();
    let mut stderr = process.take_stderr().unwrap();
    within(stderr.read_to_string(&mut text)).await.unwrap();
    text
}

/// Runs an action of `probe.py` and returns its result.
async fn attempt(way: &str, what: &[&str], confinement: Option<&Confinement>) -> String {
    let python = python().expect("the caller has checked for Python");
    let mut spec = Spec::new(python)
        .args(["-c", PROBE, way])
        .args(what.iter().copied());
    if let Some(confinement) = confinement {
        spec = spec.confine(confinement.clone());
    }
    output(spec).await.trim().to_owned()
}

/// Asserts that the action works unconfined and, if `granted` is given, under that confinement.
async fn works(what: &[&str], granted: Option<&Confinement>) {
    assert_eq!(
        attempt("self", what, None).await,
        "ok",
        "{what:?} unconfined"
    );
    if granted.is_some() {
        let answer = attempt("self", what, granted).await;
        assert_eq!(answer, "ok", "{what:?} under {granted:?}");
    }
}

/// Asserts that the action is denied under `confinement`, from the process, a child and a daemon.
async fn denied(what: &[&str], confinement: &Confinement) {
    for way in WAYS {
        let answer = attempt(way, what, Some(confinement)).await;
        assert!(
            matches!(answer.as_str(), "EACCES" | "EPERM"),
            "{what:?} by {way} under {confinement:?}: {answer}"
        );
    }
}
