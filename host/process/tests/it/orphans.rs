use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::tempdir;
use zot_process::{Exit, Orphans, Spec, Subreaper, run_in_foreground};
use zot_test_support::skip::unsupported;

use crate::support::{
    LONG, children, is_alive, lines, pid, rerun, runs_alone, sh, signal, spawner, stat, until,
    within,
};

/// A daemon that left the group, lost its parents and cleared its environment.
const DAEMON: &str = "setsid env -i sh -c 'echo $$; exec sleep 1000' & exit 0";

/// The same, but it also lowered the limit that marks its tree.
const HIDDEN: &str =
    "ulimit -R 1000000000; setsid env -i sh -c 'echo $$; exec sleep 1000' & exit 0";

fn bash(script: &str) -> Spec {
    Spec::new("/bin/bash").arg("-c").arg(script)
}

/// A child that this program started without the spawner. It is killed when the test ends, even if
/// the test fails.
struct Own(std::process::Child);

impl Own {
    fn start() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An adopted process. It is killed when the test ends, even if the test fails.
struct Adopted(u32);

impl Drop for Adopted {
    fn drop(&mut self) {
        signal(self.0, "KILL");
    }
}

fn pidfds() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    links
        .filter(|link| link.to_string_lossy().contains("pidfd"))
        .count()
}

#[tokio::test]
async fn an_unmarked_orphan_is_swept_only_with_all_orphans() {
    if !runs_alone("orphans::an_unmarked_orphan_is_swept_only_with_all_orphans") {
        return;
    }
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    let mut process = spawner.spawn(bash(HIDDEN)).await.unwrap();
    let hidden = pid(&mut lines(&mut process)).await;
    within(process.end(Duration::ZERO)).await;
    assert!(is_alive(hidden), "it must not be found with its tree");
    until("it is adopted", || children() == [hidden]).await;

    let swept = within(subreaper.sweep(LONG)).await;
    assert_eq!(swept.found, [], "it has no mark");
    let subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    let swept = within(subreaper.sweep(LONG)).await;
    assert_eq!(swept.found.len(), 1, "{swept:?}");
    assert_eq!(swept.found[0].pid, hidden);
    assert_eq!(swept.survivors, []);
    assert!(children().is_empty(), "stopped and reaped");
}

/// There is no subreaper here, so init adopts the daemon.
#[tokio::test]
async fn a_daemon_without_an_environment_is_stopped_with_its_tree() {
    let spawner = spawner();
    let mut process = spawner.spawn(sh(DAEMON)).await.unwrap();
    let daemon = pid(&mut lines(&mut process)).await;
    within(process.wait()).await;
    let found = within(process.descendants()).await;
    assert!(found.iter().any(|it| it.pid == daemon), "{found:?}");
    within(process.end(LONG)).await;
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn stopping_a_tree_spares_the_daemons_of_another() {
    if !runs_alone("orphans::stopping_a_tree_spares_the_daemons_of_another") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    // This process is older than the daemon, like a shell command that is running when an extension
    // starts a daemon.
    let other = spawner.spawn(sh("read line")).await.unwrap();
    let mut living = spawner
        .spawn(sh(&format!("({DAEMON}); read line")))
        .await
        .unwrap();
    let daemon = pid(&mut lines(&mut living)).await;
    until("it is adopted", || children().contains(&daemon)).await;
    within(other.end(LONG)).await;
    assert!(is_alive(daemon));
    within(living.end(LONG)).await;
    assert!(!is_alive(daemon));
    until("no children", || children().is_empty()).await;
}

#[tokio::test]
async fn an_unmarked_orphan_is_stopped_with_the_next_tree() {
    if !runs_alone("orphans::an_unmarked_orphan_is_stopped_with_the_next_tree") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    let mut process = spawner.spawn(bash(HIDDEN)).await.unwrap();
    let hidden = pid(&mut lines(&mut process)).await;
    within(process.end(Duration::ZERO)).await;
    assert!(!is_alive(hidden));
    until("no children", || children().is_empty()).await;
}

#[tokio::test]
async fn a_marked_orphan_is_swept_and_other_children_are_not() {
    if !runs_alone("orphans::a_marked_orphan_is_swept_and_other_children_are_not") {
        return;
    }
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    let (living, mut dead) = (Own::start(), Own::start());
    dead.0.kill().unwrap();
    let mut kept = spawner
        .spawn(sh("setsid sh -c 'sleep 1000 & echo $!'; sleep 1000"))
        .await
        .unwrap();
    let kept_daemon = pid(&mut lines(&mut kept)).await;

    // The orphan has no mark while its tree is stopped, and sets one afterwards. A late fork would
    // look the same.
    let dir = tempdir().unwrap();
    let script = r#"mark=$ZOT_PROCESS_TREE; ulimit -R 1000000000
        setsid env -i sh -c 'echo $$; while [ -d "$1" ] && [ ! -e go ]; do sleep 0.05; done
        exec env ZOT_PROCESS_TREE="$0" sleep 1000' "$mark" "$PWD" & exit 0"#;
    let mut process = spawner.spawn(bash(script).cwd(dir.path())).await.unwrap();
    let orphan = pid(&mut lines(&mut process)).await;
    within(process.end(Duration::ZERO)).await;
    std::fs::write(dir.path().join("go"), "").unwrap();
    until("it is marked", || {
        let environ = std::fs::read_to_string(format!("/proc/{orphan}/environ"));
        environ.is_ok_and(|environ| environ.contains("ZOT_PROCESS_TREE"))
    })
    .await;

    let swept = within(subreaper.sweep(LONG)).await;
    assert_eq!(swept.found.len(), 1, "{swept:?}");
    assert_eq!(swept.found[0].pid, orphan);
    assert!(!is_alive(orphan));

    assert!(is_alive(living.0.id()));
    assert!(is_alive(kept.id()), "its tree was not stopped");
    assert!(is_alive(kept_daemon), "an orphan of a running tree");
    assert_eq!(
        stat(dead.0.id()).map(|stat| stat[0].clone()).as_deref(),
        Some("Z"),
        "not reaped"
    );
    assert!(!dead.0.wait().unwrap().success());
    within(kept.kill()).await;
    drop(living);
    until("no children", || children().is_empty()).await;
}

#[tokio::test]
async fn orphans_that_exit_by_themselves_are_reaped() {
    if !runs_alone("orphans::orphans_that_exit_by_themselves_are_reaped") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    let dir = tempdir().unwrap();
    let wait = "echo $$; while [ -d $PWD ] && [ ! -e go ]; do sleep 0.05; done";
    // A daemon in the session of an exited parent, one in its own session, and one in the group.
    let script = format!(
        r#"setsid sh -c "env -i sh -c '{}' &"; setsid sh -c '{wait}' & sh -c '{wait}' & read line"#,
        wait.replace('$', r"\$")
    );
    let mut process = spawner.spawn(sh(&script).cwd(dir.path())).await.unwrap();
    let mut lines = lines(&mut process);
    let mut orphans = Vec::new();
    while orphans.len() < 3 {
        orphans.push(pid(&mut lines).await);
    }
    drop(process.take_stdin());
    orphans.sort_unstable();
    within(process.wait()).await;
    until("they are adopted", || {
        let mut children = children();
        children.sort_unstable();
        children == orphans
    })
    .await;
    // One pidfd for the process itself and one for each orphan.
    until("they are held", || pidfds() == 4).await;
    std::fs::write(dir.path().join("go"), "").unwrap();
    until("they are reaped", || children().is_empty()).await;
    assert_eq!(
        process.exited().map(zot_process::Exit::success),
        Some(false)
    );
}

/// The orphans exit before a scan can find them, and are identified by their group.
#[tokio::test]
async fn short_lived_orphans_in_a_group_are_reaped() {
    if !runs_alone("orphans::short_lived_orphans_in_a_group_are_reaped") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    let mut kept = Vec::new();
    for _ in 0..30 {
        kept.push(spawner.spawn(sh("true & true & exit 0")).await.unwrap());
    }
    until("no children", || children().is_empty()).await;
}

/// The orphans leave the process group and exit before a scan can find them.
#[tokio::test]
async fn all_orphans_are_reaped_under_orphans_all() {
    if !runs_alone("orphans::all_orphans_are_reaped_under_orphans_all") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    for _ in 0..20 {
        let process = spawner
            .spawn(sh("setsid true & setsid env -i true & exit 0"))
            .await
            .unwrap();
        assert!(within(process.wait()).await.success());
        assert!(spawner.spawn(sh("true").cwd("/nowhere")).await.is_err());
    }
    until("no children", || children().is_empty()).await;
}

#[tokio::test]
async fn adopted_processes_of_a_tree_are_reaped_with_it() {
    if !runs_alone("orphans::adopted_processes_of_a_tree_are_reaped_with_it") {
        return;
    }
    let spawner = spawner();
    let _subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    let script = "setsid sh -c 'sleep 1000 & echo $!; wait' & wait";
    let mut process = spawner.spawn(sh(script)).await.unwrap();
    pid(&mut lines(&mut process)).await;
    within(process.kill()).await;
    until("no children", || children().is_empty()).await;
}

/// Simulates a container whose session belongs to the host, so that this program's session id is 0.
#[test]
fn adopted_processes_are_reaped_in_a_pid_namespace() {
    let inner = rerun("orphans::adopted_processes_of_a_tree_are_reaped_with_it");
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]);
    if !command.arg("true").status().is_ok_and(|it| it.success()) {
        unsupported("unshare cannot create a pid namespace here");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap());
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("1 passed"), "{stdout}{output:?}");
}

#[tokio::test]
async fn dropping_the_subreaper_disables_it() {
    if !runs_alone("orphans::dropping_the_subreaper_disables_it") {
        return;
    }
    let is_on = || rustix::process::child_subreaper().unwrap().is_some();
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::Marked).unwrap();
    assert!(is_on());
    drop(subreaper);
    assert!(!is_on());
}

/// The server of an editor, for example.
#[tokio::test]
async fn what_a_program_in_the_foreground_leaves_running_is_not_stopped() {
    if !runs_alone("orphans::what_a_program_in_the_foreground_leaves_running_is_not_stopped") {
        return;
    }
    for orphans in [Orphans::All, Orphans::Marked] {
        let spawner = spawner();
        let subreaper = Subreaper::enable(&spawner, orphans).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "setsid env -i sleep 1000 & exit 0"]);
        let exit = within(run_in_foreground(command)).await.unwrap();
        assert_eq!(exit, Exit::Code(0));
        until("it is adopted", || children().len() == 1).await;
        let left = Adopted(children()[0]);

        let process = spawner.spawn(bash("exit 0")).await.unwrap();
        within(process.end(Duration::ZERO)).await;
        assert_eq!(within(subreaper.sweep(LONG)).await.found, []);
        assert_eq!(within(subreaper.kill_everything()).await.found, []);
        assert!(is_alive(left.0));
        // The subreaper still reaps it.
        drop(left);
        until("it is reaped", || children().is_empty()).await;
    }
}

#[tokio::test]
async fn a_process_of_a_tree_cannot_forge_the_mark_of_the_foreground() {
    if !runs_alone("orphans::a_process_of_a_tree_cannot_forge_the_mark_of_the_foreground") {
        return;
    }
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    let forge = r#"export ZOT_PROCESS_TREE="${ZOT_PROCESS_TREE%-*}-0"
        setsid sh -c 'echo $$; exec sleep 1000' & exit 0"#;
    let mut process = spawner.spawn(bash(forge)).await.unwrap();
    let forged = pid(&mut lines(&mut process)).await;
    within(process.end(LONG)).await;
    assert!(!is_alive(forged), "its limit still names its tree");
    let hidden = format!("ulimit -R 1000000000; {forge}");
    let mut process = spawner.spawn(bash(&hidden)).await.unwrap();
    let forged = pid(&mut lines(&mut process)).await;
    within(process.end(Duration::ZERO)).await;
    within(subreaper.sweep(LONG)).await;
    assert!(!is_alive(forged), "only a limit marks the foreground");
}

/// A sweep and the end of a tree both treat every unregistered process as an orphan.
#[tokio::test]
async fn a_program_in_the_foreground_is_not_an_orphan() {
    if !runs_alone("orphans::a_program_in_the_foreground_is_not_an_orphan") {
        return;
    }
    let spawner = spawner();
    let subreaper = Subreaper::enable(&spawner, Orphans::All).unwrap();
    let folder = tempdir().unwrap();
    let go = folder.path().join("go");
    let mut command = Command::new("/bin/bash");
    command
        .arg("-c")
        .arg("until [ -e \"$0\" ]; do sleep 0.01; done; exit 7");
    command.arg(&go).stdout(Stdio::null());
    let running = tokio::spawn(run_in_foreground(command));
    until("it is running", || !children().is_empty()).await;

    let process = spawner.spawn(bash("exit 0")).await.unwrap();
    within(process.end(Duration::ZERO)).await;
    assert_eq!(within(subreaper.sweep(Duration::ZERO)).await.found, []);
    std::fs::write(&go, "").unwrap();
    let exit = within(running).await.unwrap().unwrap();
    assert_eq!(exit, Exit::Code(7));
    assert!(children().is_empty(), "reaped");
}
