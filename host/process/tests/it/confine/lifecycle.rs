//! A confined process is found, signalled and stopped like any other.

use std::time::Duration;

use zot_process::{Exit, Orphans, SpawnError, Spec, Subreaper, Support};

use super::{narrow, output, python, rerun_spec};
use crate::host::child_dies_with;
use crate::support::{
    LONG, is_alive, is_helper, line, lines, pid, runs_alone, sh, signal, spawner, within,
};

#[tokio::test]
async fn daemons_of_a_confined_process_are_found_and_stopped() {
    let Some(narrow) = narrow() else { return };
    let spec = sh("setsid sleep 1000 & echo $!; wait").confine(narrow);
    let mut process = spawner().spawn(spec).await.unwrap();
    let daemon = pid(&mut lines(&mut process)).await;
    let found = within(process.descendants()).await;
    assert!(found.iter().any(|other| other.pid == daemon), "{found:?}");
    let ended = within(process.end(LONG)).await;
    assert_eq!(ended.exit, Some(Exit::Signal(15)));
    assert!(!ended.forced && ended.survivors.is_empty(), "{ended:?}");
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn a_confined_process_receives_signals_and_signals_its_children() {
    let Some(narrow) = narrow() else { return };
    let script = "trap 'echo caught' USR1; sleep 1000 & child=$!; kill -0 $child && echo reached
        while kill -0 $child; do wait $child; done";
    let mut process = spawner().spawn(sh(script).confine(narrow)).await.unwrap();
    let mut lines = lines(&mut process);
    assert_eq!(line(&mut lines).await, "reached");
    signal(process.id(), "USR1");
    assert_eq!(line(&mut lines).await, "caught");
    assert_eq!(within(process.kill()).await.exit, Some(Exit::Signal(9)));
}

#[tokio::test]
async fn orphans_of_a_confined_process_are_swept() {
    if !runs_alone("confine::lifecycle::orphans_of_a_confined_process_are_swept") {
        return;
    }
    let Some(narrow) = narrow() else { return };
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    let spec = sh("setsid env -i sh -c 'echo $$; exec sleep 1000' & exit 0").confine(narrow);
    let mut process = spawner.spawn(spec).await.unwrap();
    let hidden = pid(&mut lines(&mut process)).await;
    within(process.end(Duration::ZERO)).await;
    let swept = within(subreaper.sweep(LONG)).await;
    assert_eq!(swept.survivors, []);
    assert!(!is_alive(hidden));
}

#[tokio::test]
async fn a_confined_process_dies_with_the_host() {
    let Some(_) = narrow() else { return };
    child_dies_with("confine::lifecycle::helper_host").await;
}

#[tokio::test]
async fn a_confined_process_cannot_outlive_the_host() {
    let (Some(_), Some(_)) = (narrow(), python()) else {
        return;
    };
    child_dies_with("confine::lifecycle::helper_host_with_a_stubborn_child").await;
}

#[tokio::test]
#[ignore = "helper of `a_confined_process_dies_with_the_host`"]
async fn helper_host() {
    if !is_helper("confine::lifecycle::helper_host") {
        return;
    }
    let Some(narrow) = narrow() else { return };
    let spec = sh("trap '' HUP TERM; while :; do sleep 1; done").confine(narrow);
    let process = spawner().spawn(spec).await.unwrap();
    println!("\nchild {}", process.id());
    process.wait().await;
}

#[tokio::test]
#[ignore = "helper of `a_confined_process_cannot_outlive_the_host`"]
async fn helper_host_with_a_stubborn_child() {
    if !is_helper("confine::lifecycle::helper_host_with_a_stubborn_child") {
        return;
    }
    let Some(narrow) = narrow() else { return };
    let script = "import ctypes, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
print('cleared', flush=True)
time.sleep(1000)";
    let spec = Spec::new(python().unwrap()).args(["-c", script]);
    let mut process = spawner().spawn(spec.confine(narrow)).await.unwrap();
    assert_eq!(line(&mut lines(&mut process)).await, "cleared");
    println!("\nchild {}", process.id());
    process.wait().await;
}

const NESTED: &str = "confine::lifecycle::helper_nested_host";

/// A confinement that cannot be applied is an error. The process must not start without it.
#[tokio::test]
async fn a_process_that_cannot_be_confined_is_not_started() {
    let Some(narrow) = narrow() else { return };
    // The kernel stacks at most sixteen layers of rules, and each nested host adds one.
    let output = output(rerun_spec(NESTED).confine(narrow)).await;
    assert!(output.contains("17 layers: cannot confine `"), "{output}");
}

#[tokio::test]
#[ignore = "helper of `a_process_that_cannot_be_confined_is_not_started`"]
async fn helper_nested_host() {
    if !is_helper(NESTED) {
        return;
    }
    let layers: u32 = std::env::var("LAYERS").map_or(2, |n| n.parse().unwrap());
    let spec = rerun_spec(NESTED)
        .env("LAYERS", (layers + 1).to_string())
        .confine(zot_process::Confinement::new(Support::probe()));
    match spawner().spawn(spec).await {
        Ok(mut process) => {
            let mut text = String::new();
            let mut stdout = process.take_stdout().unwrap();
            tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut text)
                .await
                .unwrap();
            println!("{text}");
        }
        Err(error) => {
            assert!(matches!(error, SpawnError::Confinement { .. }), "{error:?}");
            println!("\n{layers} layers: {error}");
        }
    }
}
