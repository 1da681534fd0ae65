use zot_process::Exit;

use crate::support::{LONG, alone, children, lines, pid, sh, spawner, stat, until, within};

#[tokio::test]
async fn no_zombies_though_nobody_waits() {
    if !alone("leaks::no_zombies_though_nobody_waits") {
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
async fn a_child_of_somebody_else_is_left_to_be_reaped() {
    if !alone("leaks::a_child_of_somebody_else_is_left_to_be_reaped") {
        return;
    }
    let spawner = spawner();
    let mut own = std::process::Command::new("/bin/sh")
        .args(["-c", "exit 9"])
        .spawn()
        .unwrap();
    until("it has ended", || stat(own.id()).unwrap()[0] == "Z").await;
    let process = spawner.spawn(sh("exit 0")).await.unwrap();
    within(process.end(LONG)).await;
    assert_eq!(own.wait().unwrap().code(), Some(9));
}

#[tokio::test]
async fn no_descriptors_over_two_hundred_rounds() {
    if !alone("leaks::no_descriptors_over_two_hundred_rounds") {
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
    assert_eq!(children(), []);
}
