use std::fs;
use std::time::{Duration, Instant};

use tempfile::tempdir;
use zot_process::{Exit, Process, Spec};

use crate::support::{LONG, is_alive, line, lines, pid, sh, signal, spawner, until, within};

const SHORT: Duration = Duration::from_millis(300);

/// Starts a process and waits until it prints `ready`.
async fn ready(spec: Spec) -> Process {
    let mut process = spawner().spawn(spec).await.unwrap();
    assert_eq!(line(&mut lines(&mut process)).await, "ready");
    process
}

/// Starts a script and returns the process id that it prints.
async fn with_pid(script: &str) -> (Process, u32) {
    let mut process = spawner().spawn(sh(script)).await.unwrap();
    let pid = pid(&mut lines(&mut process)).await;
    (process, pid)
}

#[tokio::test]
async fn a_process_that_exits_on_sigterm_is_not_killed() {
    let dir = tempdir().unwrap();
    let spec =
        sh("trap 'echo asked > asked; exit 7' TERM; echo ready; while :; do sleep 0.1; done")
            .cwd(dir.path());
    let process = ready(spec).await;
    let ended = within(process.end(LONG)).await;
    assert_eq!(ended.exit, Some(Exit::Code(7)));
    assert!(!ended.forced, "{ended:?}");
    assert!(dir.path().join("asked").exists());
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed() {
    let dir = tempdir().unwrap();
    let spec = sh("trap 'echo asked > asked' TERM; echo ready; while :; do sleep 0.1; done")
        .cwd(dir.path());
    let process = ready(spec).await;
    let start = Instant::now();
    let ended = within(process.end(Duration::from_secs(1))).await;
    assert!(start.elapsed() >= Duration::from_secs(1), "killed early");
    assert_eq!(ended.exit, Some(Exit::Signal(9)));
    assert!(ended.forced && ended.survivors.is_empty(), "{ended:?}");
    assert!(dir.path().join("asked").exists());
}

#[tokio::test]
async fn a_stopped_process_can_still_exit_on_sigterm() {
    let process = ready(sh("trap 'exit 7' TERM; echo ready; kill -STOP $$")).await;
    let ended = within(process.end(LONG)).await;
    assert_eq!(ended.exit, Some(Exit::Code(7)));
    assert!(!ended.forced);
}

#[tokio::test]
async fn kill_shortens_the_grace_period() {
    let process = ready(sh("trap '' TERM; echo ready; while :; do sleep 0.1; done")).await;
    let long = process.end(Duration::MAX);
    let cut = async {
        tokio::task::yield_now().await;
        process.kill().await
    };
    let (long, cut) = within(async { tokio::join!(long, cut) }).await;
    assert_eq!(cut.exit, Some(Exit::Signal(9)));
    assert_eq!(long, cut);
    assert_eq!(process.end(LONG).await, cut, "the result does not change");
}

#[tokio::test]
async fn stopping_continues_when_the_caller_stops_waiting() {
    let process = ready(sh("trap '' TERM; echo ready; while :; do sleep 0.1; done")).await;
    let given_up = tokio::time::timeout(Duration::ZERO, process.end(SHORT)).await;
    assert!(given_up.is_err());
    assert_eq!(within(process.wait()).await, Exit::Signal(9));
}

/// The grandchild left the group and cleared its environment, but its parent is running, so it is
/// found by descent.
#[tokio::test]
async fn a_grandchild_in_another_session_is_found_by_its_parents() {
    for grace in [Duration::ZERO, LONG] {
        let (process, grandchild) = with_pid("setsid env -i sleep 1000 & echo $!; wait").await;
        until("it has its own session", || {
            crate::support::stat(grandchild).unwrap()[3] == grandchild.to_string()
        })
        .await;
        let ended = within(process.end(grace)).await;
        assert!(ended.survivors.is_empty(), "{ended:?}");
        assert!(!is_alive(grandchild), "with a grace of {grace:?}");
    }
}

/// The grandchild lost its parent and cleared its environment, so it is found by its group.
#[tokio::test]
async fn a_grandchild_without_parents_is_found_by_its_group() {
    let (process, grandchild) = with_pid("env -i sleep 1000 & echo $!").await;
    within(process.wait()).await;
    assert!(is_alive(grandchild));
    within(process.end(LONG)).await;
    assert!(!is_alive(grandchild));
}

/// The daemon left the group and lost its parents, so it is found by its mark.
#[tokio::test]
async fn a_daemon_is_found_by_its_mark() {
    let (process, daemon) = with_pid("setsid sh -c 'sleep 1000 & echo $!' &").await;
    within(process.wait()).await;
    assert!(is_alive(daemon));
    within(process.end(LONG)).await;
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn a_grandchild_that_ignores_sigterm_is_killed() {
    let script = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait";
    let (process, grandchild) = with_pid(script).await;
    let ended = within(process.end(SHORT)).await;
    assert_eq!(
        ended.exit,
        Some(Exit::Signal(15)),
        "the child exited on SIGTERM"
    );
    assert!(ended.forced && ended.survivors.is_empty(), "{ended:?}");
    assert!(!is_alive(grandchild));
}

/// A process started by a SIGTERM handler gets SIGTERM too. A shell loses a signal that arrives
/// between its fork and its exec, so on a busy machine this may take several attempts.
#[tokio::test]
async fn a_process_started_during_the_stop_gets_sigterm_too() {
    for _ in 0..6 {
        let process = ready(sh(
            "trap 'setsid sleep 1000 & exit 7' TERM; echo ready; while :; do sleep 0.1; done",
        ))
        .await;
        let ended = within(process.end(Duration::from_secs(4))).await;
        assert_eq!(ended.exit, Some(Exit::Code(7)));
        assert!(ended.survivors.is_empty(), "{ended:?}");
        assert_eq!(process.descendants().await, []);
        if !ended.forced {
            return;
        }
    }
    panic!("it never exited on SIGTERM, and had to be killed each time");
}

/// The process moves to this test's group and clears its environment, so its child can only be
/// found by descent.
#[tokio::test]
async fn a_process_that_leaves_its_group_is_stopped() {
    let program = "import os, subprocess, time
os.setpgid(0, os.getpgid(os.getppid()))
print(subprocess.Popen(['/bin/sleep', '1000'], env={}).pid, flush=True)
time.sleep(1000)";
    let spec = Spec::new("/usr/bin/env").args(["-i", "python3", "-c", program]);
    let mut process = spawner().spawn(spec).await.unwrap();
    let child = pid(&mut lines(&mut process)).await;
    let ended = within(process.end(LONG)).await;
    assert_eq!(ended.exit, Some(Exit::Signal(15)));
    assert!(!ended.forced, "{ended:?}");
    assert!(!is_alive(child));
}

/// Every step starts the next one in a new session and exits, so none has a parent and none lives
/// long.
#[tokio::test]
async fn a_tree_that_keeps_forking_is_stopped() {
    let dir = tempdir().unwrap();
    let step = dir.path().join("step");
    let text = "#!/bin/sh\necho >> steps\nsleep 0.05\n[ -e stop ] || setsid ./step &\n";
    crate::support::script(&step, text, 0o755);
    let steps = dir.path().join("steps");
    let process = spawner()
        .spawn(Spec::new(&step).cwd(dir.path()))
        .await
        .unwrap();
    until("it runs", || {
        fs::read(&steps).is_ok_and(|steps| steps.len() > 3)
    })
    .await;
    within(process.kill()).await;
    let cwd = dir.path().canonicalize().unwrap();
    let is_step = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|other| other == cwd)
    };
    let left = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let left = left.filter(is_step).count();
    // Stops the remaining steps if this test fails.
    fs::write(dir.path().join("stop"), "").unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn dropping_a_process_kills_its_tree() {
    let spawner = spawner();
    let mut process = spawner
        .spawn(sh(
            "trap '' TERM; setsid sleep 1000 & echo $!; echo $$; wait",
        ))
        .await
        .unwrap();
    let mut lines = lines(&mut process);
    let (grandchild, child) = (pid(&mut lines).await, pid(&mut lines).await);
    assert_eq!(child, process.id());
    drop(process);
    within(spawner.idle()).await;
    assert!(!is_alive(grandchild) && !is_alive(child));
}

#[tokio::test]
async fn a_cancelled_spawn_is_killed() {
    let spawner = spawner();
    tokio::select! {
        biased;
        _ = spawner.spawn(sh("sleep 1000")) => panic!("the spawn was not cancelled"),
        () = async {} => {}
    }
    // The spawner handles requests in order, so the first process was started before this one.
    let process = spawner.spawn(sh("exit 0")).await.unwrap();
    within(process.end(LONG)).await;
    within(spawner.idle()).await;
}

#[tokio::test]
async fn other_trees_are_left_alone() {
    let spawner = spawner();
    let mut kept = spawner
        .spawn(sh("setsid sleep 1000 & echo $!; wait"))
        .await
        .unwrap();
    let grandchild = pid(&mut lines(&mut kept)).await;
    let ended = spawner.spawn(sh("sleep 1000")).await.unwrap();
    within(ended.end(LONG)).await;
    within(ended.kill()).await;
    assert!(is_alive(grandchild));
    assert_eq!(kept.exited(), None);
    signal(kept.id(), "CONT");
    within(kept.kill()).await;
    assert!(!is_alive(grandchild));
}
