use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use zot_process::Exit;

use crate::support::{LONG, line, lines, sh, spawner, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_start_and_end_side_by_side() {
    let spawner = spawner();
    let mut starting = JoinSet::new();
    for _ in 0..100 {
        let spawner = spawner.clone();
        starting.spawn(async move {
            let mut process = spawner
                .spawn(sh(
                    "trap 'exit 7' TERM; echo ready; while :; do sleep 1; done",
                ))
                .await
                .unwrap();
            assert_eq!(line(&mut lines(&mut process)).await, "ready");
            process
        });
    }
    let processes = within(starting.join_all()).await;
    let mut ending = JoinSet::new();
    for process in processes {
        ending.spawn(async move { process.end(LONG).await });
    }
    for ended in within(ending.join_all()).await {
        assert_eq!(ended.exit, Some(Exit::Code(7)));
        assert!(!ended.forced && ended.survivors.is_empty(), "{ended:?}");
    }
    within(spawner.idle()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_stubborn_ones_take_as_long_as_one() {
    let spawner = spawner();
    let mut processes = Vec::new();
    for _ in 0..20 {
        let mut process = spawner
            .spawn(sh("trap '' TERM; echo ready; while :; do sleep 1; done"))
            .await
            .unwrap();
        assert_eq!(line(&mut lines(&mut process)).await, "ready");
        processes.push(process);
    }
    let start = Instant::now();
    let mut ending = JoinSet::new();
    for process in processes {
        ending.spawn(async move { process.end(Duration::from_secs(1)).await });
    }
    for ended in within(ending.join_all()).await {
        assert_eq!(ended.exit, Some(Exit::Signal(9)));
    }
    // One after the other they would take twenty seconds.
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Run it with `--release -- --ignored --nocapture measure`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn measure() {
    let spawner = spawner();
    let mut ballast = Vec::new();
    for megabytes in [0, 500] {
        ballast.resize(megabytes << 20, 1_u8);
        for count in [1, 1, 1, 50, 100] {
            let start = Instant::now();
            let mut starting = JoinSet::new();
            for _ in 0..count {
                let spawner = spawner.clone();
                starting.spawn(async move { spawner.spawn(sh("read line")).await.unwrap() });
            }
            let processes = starting.join_all().await;
            let started = start.elapsed();
            let start = Instant::now();
            let mut ending = JoinSet::new();
            for process in processes {
                ending.spawn(async move { process.end(LONG).await });
            }
            ending.join_all().await;
            let ended = start.elapsed();
            println!("{count:>3} in a host of {megabytes} MB: start {started:?}, end {ended:?}");
        }
    }
}
