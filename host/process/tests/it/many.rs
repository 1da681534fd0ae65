use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;
use zot_process::{Confinement, Exit, Spawner, Spec, Support};

use crate::support::{
    LONG, children, is_alive, line, lines, runs_alone, sh, spawner, until, within,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_processes_start_and_stop_concurrently() {
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
async fn stubborn_processes_are_stopped_concurrently() {
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
    // Stopping them in sequence would take twenty seconds.
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Measures the time until a process is ready if it is started by the standard library with pipes
/// only ("bare"), by a spawner, and by a spawner with a confinement. Takes the medians of many
/// interleaved rounds, so that other load on the machine affects all three equally.
///
/// Run it with `--release -- --ignored --nocapture measure_start_times`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "benchmark"]
async fn measure_start_times() {
    let spawner = spawner();
    let script = "echo ready; read line";
    let folder = tempfile::tempdir().unwrap();
    let confinement = Confinement::new(Support::probe())
        .read("/var")
        .read(std::env::current_dir().unwrap())
        .write(folder.path());
    let confined = sh(script).confine(confinement);
    let mut ballast = Vec::new();
    for megabytes in [0, 100, 500] {
        ballast.resize(megabytes << 20, 1_u8);
        for (count, rounds) in [(1, 200), (50, 20)] {
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..rounds {
                times[0].push(bare(script, count).await);
                times[1].push(spawned(&spawner, &sh(script), count).await);
                times[2].push(spawned(&spawner, &confined, count).await);
            }
            let [bare, started, confined] = times.map(|mut times| {
                times.sort();
                times[rounds / 2] / count
            });
            println!(
                "{count:>3} processes, host of {megabytes} MB, per process: bare {bare:?}, spawned {started:?}, confined {confined:?}"
            );
        }
    }
}

async fn bare(script: &str, count: u32) -> Duration {
    let start = Instant::now();
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let mut command = tokio::process::Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        starting.spawn(async move {
            let mut child = command.spawn().unwrap();
            let mut ready = [0; 6];
            let stdout = child.stdout.as_mut().unwrap();
            stdout.read_exact(&mut ready).await.unwrap();
            child
        });
    }
    let children = starting.join_all().await;
    let took = start.elapsed();
    for mut child in children {
        child.wait().await.unwrap();
    }
    took
}

async fn spawned(spawner: &Spawner, spec: &Spec, count: u32) -> Duration {
    let start = Instant::now();
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let (spawner, spec) = (spawner.clone(), spec.clone());
        starting.spawn(async move {
            let mut process = spawner.spawn(spec).await.unwrap();
            assert_eq!(line(&mut lines(&mut process)).await, "ready");
            process
        });
    }
    let processes = starting.join_all().await;
    let took = start.elapsed();
    for process in processes {
        process.kill().await;
    }
    took
}

/// There are more daemons than pidfds that can be open at a time. They are stopped in rounds.
#[tokio::test]
async fn more_processes_than_descriptors_are_all_stopped() {
    if !runs_alone("many::more_processes_than_descriptors_are_all_stopped") {
        return;
    }
    let script = "trap '' TERM; for i in $(seq 150); do setsid sleep 1000 & done; echo up; wait";
    let spawner = spawner();
    let mut process = spawner.spawn(sh(script)).await.unwrap();
    line(&mut lines(&mut process)).await;
    let all = process.descendants().await;
    assert_eq!(all.len(), 150);
    // From here on, at most 50 pidfds can be open at a time: half of this limit.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(100);
    setrlimit(Resource::Nofile, limit).unwrap();
    let ended = within(process.end(Duration::from_millis(100))).await;
    assert!(ended.forced, "{ended:?}");
    assert_eq!(ended.survivors, []);
    let alive = all.iter().filter(|it| is_alive(it.pid)).count();
    assert_eq!(alive, 0);
    until("no children", || children().is_empty()).await;
}
