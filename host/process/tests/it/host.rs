use std::io::{BufRead, BufReader};
use std::process::Stdio;

use tempfile::tempdir;

use crate::support::{
    LONG, alone, is_alive, is_played, lines, pid, rerun, sh, signal, spawner, until, within,
};

#[tokio::test]
async fn killed_takes_its_children_along() {
    let mut host = rerun("host::plays_a_host")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
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
#[ignore = "a part in `killed_takes_its_children_along`"]
async fn plays_a_host() {
    if !is_played("host::plays_a_host") {
        return;
    }
    // It ignores what a child would notice on its own: the end of its input, and the terminal's hangup.
    let spec = sh("trap '' HUP TERM; while :; do sleep 1; done");
    let process = spawner().spawn(spec).await.unwrap();
    println!("\nchild {}", process.id());
    process.wait().await;
}

/// The kernel's death signal comes when the forking thread ends: that must not be one of the caller's.
#[tokio::test]
async fn outlives_the_threads_and_the_runtime_that_asked() {
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
    until("it answers", || dir.path().join("here").exists()).await;
    assert!(!within(process.end(LONG)).await.forced);
}

/// The spawner may be dropped first; its thread ends with the last process.
#[tokio::test]
async fn the_thread_lives_as_long_as_a_process() {
    if !alone("host::the_thread_lives_as_long_as_a_process") {
        return;
    }
    let is_there = || {
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
    assert!(is_there());
    assert_eq!(process.exited(), None);
    let id = process.id();
    drop(process);
    until("the thread ends", || !is_there()).await;
    assert!(!is_alive(id));
}
