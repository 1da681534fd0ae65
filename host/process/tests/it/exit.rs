use std::time::Duration;

use tokio::io::AsyncReadExt;
use zot_process::Exit;

use crate::support::{is_alive, line, lines, pid, sh, spawner, until, within};

#[tokio::test]
async fn reports_exit_statuses_and_signals() {
    let spawner = spawner();
    for (script, exit, text) in [
        ("exit 0", Exit::Code(0), "exit status 0"),
        ("exit 1", Exit::Code(1), "exit status 1"),
        ("kill -TERM $$", Exit::Signal(15), "killed by SIGTERM"),
        ("kill -KILL $$", Exit::Signal(9), "killed by SIGKILL"),
    ] {
        let process = spawner.spawn(sh(script)).await.unwrap();
        assert_eq!(within(process.wait()).await, exit, "{script}");
        assert_eq!(exit.to_string(), text);
        assert_eq!(process.exited(), Some(exit));
        assert_eq!(exit.success(), script == "exit 0");
        let ended = within(process.kill()).await;
        assert_eq!(ended.exit, Some(exit));
        assert!(!ended.forced, "no process was left: {ended:?}");
    }
}

#[tokio::test]
async fn wait_is_concurrent_and_cancel_safe() {
    let mut process = spawner().spawn(sh("read line; exit 5")).await.unwrap();
    let stdin = process.take_stdin();
    assert!(process.take_stdin().is_none());
    for _ in 0..3 {
        let early = tokio::time::timeout(Duration::from_millis(1), process.wait()).await;
        assert!(early.is_err());
    }
    assert_eq!(process.exited(), None);
    let end = async { drop(stdin) };
    let (a, b, ()) = within(async { tokio::join!(process.wait(), process.wait(), end) }).await;
    assert_eq!((a, b), (Exit::Code(5), Exit::Code(5)));
    assert_eq!(process.wait().await, Exit::Code(5));
}

#[tokio::test]
async fn wait_is_not_delayed_by_a_grandchild_that_holds_the_pipes() {
    let mut process = spawner()
        .spawn(sh("sleep 1000 & echo $!; exit 3"))
        .await
        .unwrap();
    let mut stdout = process.take_stdout().unwrap();
    assert_eq!(within(process.wait()).await, Exit::Code(3));

    let left = within(async {
        loop {
            let left = process.descendants().await;
            assert_eq!(left.len(), 1, "{left:?}");
            // The process is named `sh` until it executes `sleep`.
            if left[0].name == "sleep" {
                break left;
            }
        }
    })
    .await;
    assert_eq!(left[0].to_string(), format!("sleep ({})", left[0].pid));

    let mut text = String::new();
    let early = tokio::time::timeout(Duration::from_millis(50), stdout.read_to_string(&mut text));
    assert!(early.await.is_err(), "the pipe is still open");

    let ended = within(process.end(Duration::from_secs(10))).await;
    assert_eq!(ended.exit, Some(Exit::Code(3)));
    assert!(!ended.forced && ended.survivors.is_empty(), "{ended:?}");
    within(stdout.read_to_end(&mut Vec::new())).await.unwrap();
    assert_eq!(process.descendants().await, []);
}

#[tokio::test]
async fn descendants_are_listed_while_the_process_runs() {
    let script = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo go; wait";
    let mut process = spawner().spawn(sh(script)).await.unwrap();
    let mut lines = lines(&mut process);
    let mut pids = [pid(&mut lines).await, pid(&mut lines).await];
    assert_eq!(line(&mut lines).await, "go");
    pids.sort_unstable();
    let seen: Vec<_> = process.descendants().await.iter().map(|d| d.pid).collect();
    assert_eq!(seen, pids);
    within(process.kill()).await;
    until("both have exited", || !pids.into_iter().any(is_alive)).await;
}
