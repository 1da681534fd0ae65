use zot_process::Exit;

use crate::support::{LONG, children, lines, pid, runs_alone, sh, spawner, stat, until, within};

#[tokio::test]
async fn exited_processes_are_reaped_without_a_waiter() {
    if !runs_alone("leaks::exited_processes_are_reaped_without_a_waiter") {
        return;
    }
    let spawner = spawner();
    let mut kept = Vec::new();
    for n in 0..20 {
        let process = spawner.spawn(sh("exit 1")).await.unwrap();
        if n % 2 == 0 {
            kept.push(process);
        }
    }
    until("all are reaped", || children().is_empty()).await;
    assert!(
        kept.iter()
            .all(|process| process.exited() == Some(Exit::Code(1)))
    );
}

#[tokio::test]
async fn children_started_by_other_means_are_not_reaped() {
    if !runs_alone("leaks::children_started_by_other_means_are_not_reaped") {
        return;
    }
    let spawner = spawner();
    let mut own = std::process::Command::new("/bin/sh")
        .args(["-c", "exit 9"])
        .spawn()
        .unwrap();
    until("it has exited", || stat(own.id()).unwrap()[0] == "Z").await;
    let process = spawner.spawn(sh("exit 0")).await.unwrap();
    within(process.end(LONG)).await;
    assert_eq!(own.wait().unwrap().code(), Some(9));
}

#[tokio::test]
async fn two_hundred_rounds_leak_no_descriptors() {
    if !runs_alone("leaks::two_hundred_rounds_leak_no_descriptors") {
        return;
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let spawner = spawner();
    let round = async |n: usize| {
        let mut process = spawner
            .spawn(sh("setsid sleep 1000 & echo $!; wait"))
            .await
            .unwrap();
        pid(&mut lines(&mut process)).await;
        match n % 3 {
            0 => drop(within(process.end(LONG)).await),
            1 => drop(within(process.kill()).await),
            _ => drop(process),
        }
    };
    for n in 0..3 {
        round(n).await;
    }
    within(spawner.idle()).await;
    let before = descriptors();
    for n in 0..200 {
        round(n).await;
        assert!(spawner.spawn(sh("exit 0").cwd("/nowhere")).await.is_err());
    }
    within(spawner.idle()).await;
    assert_eq!(descriptors(), before);
    assert!(children().is_empty(), "{:?}", children());
}
