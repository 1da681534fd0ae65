//! What this crate does for any process it still does for a confined one.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use zot_process::{Exit, Orphans, SpawnError, Spec, Subreaper, Support};

use super::{narrow, python};
use crate::support::{
    LONG, alone, is_alive, is_played, line, lines, pid, rerun, sh, signal, spawner, until, within,
};

#[tokio::test]
async fn it_is_seen_and_ended_with_its_daemons() {
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
async fn it_takes_signals_from_the_host_and_gives_them_to_its_own() {
    let Some(narrow) = narrow() else { return };
    let script = "trap 'echo heard' USR1; sleep 1000 & child=$!; kill -0 $child && echo reached
        while kill -0 $child; do wait $child; done";
    let mut process = spawner().spawn(sh(script).confine(narrow)).await.unwrap();
    let mut lines = lines(&mut process);
    assert_eq!(line(&mut lines).await, "reached");
    signal(process.id(), "USR1");
    assert_eq!(line(&mut lines).await, "heard");
    assert_eq!(within(process.kill()).await.exit, Some(Exit::Signal(9)));
}

#[tokio::test]
async fn its_orphans_are_swept() {
    if !alone("confine::still::its_orphans_are_swept") {
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
async fn it_dies_with_the_host() {
    let Some(_) = narrow() else { return };
    dies_with("confine::still::plays_a_host").await;
}

#[tokio::test]
async fn it_dies_with_the_host_though_it_would_rather_not() {
    let (Some(_), Some(_)) = (narrow(), python()) else {
        return;
    };
    dies_with("confine::still::plays_a_host_of_a_survivor").await;
}

async fn dies_with(host: &str) {
    let mut host = rerun(host).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(host.stdout.take().unwrap());
    let child: u32 = stdout
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("child ")?.parse().ok())
        .expect("the host says which child it has");
    assert!(is_alive(child));
    host.kill().unwrap();
    host.wait().unwrap();
    until("the child is gone", || !is_alive(child)).await;
}

#[tokio::test]
#[ignore = "a part in `it_dies_with_the_host`"]
async fn plays_a_host() {
    if !is_played("confine::still::plays_a_host") {
        return;
    }
    let Some(narrow) = narrow() else { return };
    let spec = sh("trap '' HUP TERM; while :; do sleep 1; done").confine(narrow);
    let process = spawner().spawn(spec).await.unwrap();
    println!("\nchild {}", process.id());
    process.wait().await;
}

#[tokio::test]
#[ignore = "a part in `it_dies_with_the_host_though_it_would_rather_not`"]
async fn plays_a_host_of_a_survivor() {
    if !is_played("confine::still::plays_a_host_of_a_survivor") {
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

/// A confinement that cannot be applied is an error, not a process without one.
#[tokio::test]
async fn what_cannot_be_confined_is_not_started() {
    let Some(narrow) = narrow() else { return };
    // Sixteen layers of rules are the most that the kernel puts on one another, and each of these adds one.
    let part = "confine::still::plays_a_nested_host";
    let spec = zot_process::Spec::new(std::env::current_exe().unwrap())
        .args(["--exact", part, "--nocapture", "--include-ignored"])
        .env("ZOT_PROCESS_TEST_ALONE", part)
        .confine(narrow);
    let said = super::said(spec).await;
    assert!(said.contains("17 layers: cannot confine `"), "{said}");
}

#[tokio::test]
#[ignore = "a part in `what_cannot_be_confined_is_not_started`"]
async fn plays_a_nested_host() {
    let part = "confine::still::plays_a_nested_host";
    if !is_played(part) {
        return;
    }
    let layers: u32 = std::env::var("LAYERS").map_or(2, |n| n.parse().unwrap());
    let spec = zot_process::Spec::new(std::env::current_exe().unwrap())
        .args(["--exact", part, "--nocapture", "--include-ignored"])
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
