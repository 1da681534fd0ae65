use std::io::{BufRead, BufReader};
use std::process::Stdio;

use tempfile::tempdir;

use crate::support::{
    LONG, is_alive, is_helper, lines, pid, rerun, runs_alone, sh, signal, spawner, until, within,
};

#[tokio::test]
async fn children_die_when_the_host_is_killed() {
    child_dies_with("host::helper_host").await;
}

/// Runs a helper that prints its child's process id, kills the helper, and waits until the child
/// has exited.
pub(crate) async fn child_dies_with(host: &str) {
    let mut host = rerun(host).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(host.stdout.take().unwrap());
    let child: u32 = stdout
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("child ")?.parse().ok())
        .expect("the host prints its child");
    assert!(is_alive(child));
    host.kill().unwrap();
    host.wait().unwrap();
    until("the child has exited", || !is_alive(child)).await;
}

#[tokio::test]
#[ignore = "helper of `children_die_when_the_host_is_killed`"]
async fn helper_host() {
    if !is_helper("host::helper_host") {
        return;
    }
    // The child ignores everything that could otherwise end it when the host dies: the end of its
    // input, and the hangup of the terminal.
    let spec = sh("trap '' HUP TERM; while :; do sleep 1; done");
    let process = spawner().spawn(spec).await.unwrap();
    println!("\nchild {}", process.id());
    process.wait().await;
}

/// The kernel sends the parent-death signal when the forking thread exits, so it must not be one of
/// the caller's threads.
#[tokio::test]
async fn a_process_outlives_the_callers_threads_and_runtime() {
    let dir = tempdir().unwrap();
    let spec =
        sh("trap 'echo yes > here' USR1; echo $$; while :; do sleep 0.1; done").cwd(dir.path());
    let spawner = spawner();
    let thread = std::thread::spawn({
        let spawner = spawner.clone();
        move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            let process = runtime.block_on(async {
                let asked = tokio::spawn(async move {
                    let mut process = spawner.spawn(spec).await.unwrap();
                    pid(&mut lines(&mut process)).await;
                    process
                });
                asked.await.unwrap()
            });
            drop(runtime);
            process
        }
    });
    let process = tokio::task::spawn_blocking(|| thread.join().unwrap())
        .await
        .unwrap();
    signal(process.id(), "USR1");
    until("it handles the signal", || dir.path().join("here").exists()).await;
    assert!(!within(process.end(LONG)).await.forced);
}

/// The spawner may be dropped first; its thread exits with the last process.
#[tokio::test]
async fn the_spawner_thread_lives_as_long_as_a_process() {
    if !runs_alone("host::the_spawner_thread_lives_as_long_as_a_process") {
        return;
    }
    let is_running = || {
        std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
            let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
            name.is_ok_and(|name| name == "zot-spawner\n")
        })
    };
    let spawner = spawner();
    let process = spawner.spawn(sh("read line")).await.unwrap();
    let clone = spawner.clone();
    drop(spawner);
    drop(clone);
    assert!(is_running());
    assert_eq!(process.exited(), None);
    let id = process.id();
    drop(process);
    until("the thread exits", || !is_running()).await;
    assert!(!is_alive(id));
}
