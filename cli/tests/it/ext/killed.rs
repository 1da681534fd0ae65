//! `kill -9` before and after every system call that changes a file leaves the old or the new
//! version, never a mixture.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use zot_test_support::skip::unsupported;

use crate::support::{
    World,
    git_http::{Behaviour, Server},
    package,
    snapshot::{self, Snapshot},
    traced::{Traced, kill_at},
    wait_until,
};

/// The two states in which a killed command may leave the extension's directory: the one before the
/// command, or the one after it.
struct Versions {
    old: Option<Snapshot>,
    new: Option<Snapshot>,
}

#[derive(Debug, Default)]
struct Tally {
    points: usize,
    old: usize,
    new: usize,
}

fn snapshot_if_exists(path: &Path) -> Option<Snapshot> {
    path.exists().then(|| snapshot::of(path))
}

/// Runs `zot ext` once for every point at which it can be killed, each time in a fresh home.
fn kill_everywhere(
    name: &str,
    prepare: impl Fn(&World),
    args: &[&str],
    check: impl Fn(&World),
) -> Option<Tally> {
    let command_in = |world: &World| {
        let args: Vec<&str> = ["ext"].iter().chain(args).copied().collect();
        world.zot_command(&args)
    };
    let fresh = || {
        let world = World::in_memory();
        prepare(&world);
        world
    };
    let world = fresh();
    let target = |world: &World| world.installed("guard");
    let old = snapshot_if_exists(&target(&world));
    let calls = match kill_at(&mut command_in(&world), usize::MAX) {
        Ok(Traced::Ended { calls, code: 0 }) => calls,
        Ok(other) => panic!("{name}: {other:?}"),
        Err(error) => {
            unsupported(format!("tracing is not permitted: {error}"));
            return None;
        }
    };
    let versions = Versions {
        old,
        new: snapshot_if_exists(&target(&world)),
    };
    let mut tally = Tally::default();
    for nth in 1..=calls {
        let world = fresh();
        let killed = kill_at(&mut command_in(&world), nth).expect("failed to trace");
        assert_eq!(killed, Traced::Killed, "{name} at {nth} of {calls}");
        tally.points += 1;
        let there = snapshot_if_exists(&target(&world));
        let is_old = there == versions.old;
        assert!(
            is_old || there == versions.new,
            "{name} at {nth} of {calls}: a mixture: {there:#?}"
        );
        if is_old {
            tally.old += 1;
        } else {
            tally.new += 1;
        }
        // The listing is correct both before and after the next command cleans up.
        let check_listing = |world: &World| {
            let listed = world.listed("guard");
            if there.is_some() {
                assert_eq!(
                    listed["changed"], false,
                    "{name} at {nth} of {calls}: {listed}"
                );
            }
        };
        check_listing(&world);
        check(&world);
        package::write(&world.work().join("other"), "other", "1");
        world.ext(&["install", "other"]);
        assert_eq!(
            snapshot_if_exists(&target(&world)),
            there,
            "{name} at {nth} of {calls}"
        );
        check_listing(&world);
        let mut left: Vec<_> = fs::read_dir(world.path("zot/extensions"))
            .expect("failed to read directory")
            .map(|entry| entry.expect("failed to read directory entry").file_name())
            .filter(|name| name != "guard" && name != "other")
            .collect();
        left.sort();
        assert_eq!(left, [""; 0], "{name} at {nth} of {calls}");
    }
    println!("{name}: {tally:?}");
    Some(tally)
}

fn source(world: &World, version: &str) {
    package::write(&world.work().join("guard"), "guard", version);
}

#[test]
fn a_killed_replacement_leaves_the_old_or_the_new_version() {
    let prepare = |world: &World| {
        source(world, "1");
        world.ext(&["install", "guard"]);
        source(world, "2");
    };
    let Some(tally) = kill_everywhere("replace", prepare, &["install", "guard"], |_| {}) else {
        return;
    };
    assert!(tally.points >= 50, "{tally:?}");
    assert!(tally.old >= 20 && tally.new >= 10, "{tally:?}");
}

#[test]
fn a_killed_first_install_leaves_nothing_or_the_new_version() {
    let prepare = |world: &World| source(world, "1");
    let Some(tally) = kill_everywhere("install", prepare, &["install", "guard"], |_| {}) else {
        return;
    };
    assert!(tally.points >= 50, "{tally:?}");
}

#[test]
fn a_killed_removal_keeps_the_data() {
    let prepare = |world: &World| {
        source(world, "1");
        world.ext(&["install", "guard"]);
        fs::create_dir_all(world.path("zot/extension-data/guard")).unwrap();
        fs::write(world.path("zot/extension-data/guard/kept"), "precious").unwrap();
    };
    kill_everywhere("remove", prepare, &["remove", "guard"], |world| {
        assert!(world.path("zot/extension-data/guard/kept").exists());
    });
}

#[test]
fn a_killed_disable_leaves_a_valid_state() {
    let prepare = |world: &World| {
        source(world, "1");
        world.ext(&["install", "guard"]);
    };
    kill_everywhere("disable", prepare, &["disable", "guard"], |world| {
        let state = &world.listed("guard")["state"];
        assert!(state == "enabled" || state == "disabled", "{state}");
    });
}

/// While zot fetches from a server, it has two threads and cannot be traced, so it is killed after
/// fifty different delays.
#[test]
fn a_killed_update_leaves_the_old_or_the_new_version() {
    let world = World::in_memory();
    let repository = package::Repository::new(&world, "guard");
    for index in 0..100 {
        let file = repository.dir.join(index.to_string());
        fs::write(file, index.to_string().repeat(500)).unwrap();
    }
    repository.release("guard", "1");
    let http = Server::start(Behaviour::Serve(world.path("repositories")));
    world.ext(&["install", &http.url("guard/.git")]);
    repository.release("guard", "2");
    let target = world.installed("guard");
    let home = world.path("zot");
    let kept = world.path("kept");
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        let copied = world.command("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    };
    copy(&home, &kept);
    let old = snapshot_if_exists(&target);
    let staging = home.join("extensions/.staging");
    let update = || {
        let mut command = world.zot_command(&["ext", "update"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    // Measure the time from the first write to the end.
    let mut child = update();
    wait_until("zot starts staging", || {
        staging.exists() || child.try_wait().unwrap().is_some()
    });
    let start = Instant::now();
    assert!(child.wait().unwrap().success());
    let whole = start.elapsed();
    let new = snapshot_if_exists(&target);
    assert_ne!(old, new);
    let (mut before, mut within, mut after) = (0, 0, 0);
    // Kill later each time until an update completes, then start over. This covers many points of
    // the update, however busy the machine is.
    let mut delay = Duration::ZERO;
    for step in 0..50 {
        copy(&kept, &home);
        let mut child = update();
        // Wait for the first write, because a busy machine makes the delay alone unreliable.
        if step >= 5 {
            wait_until("zot starts staging", || {
                staging.exists() || child.try_wait().unwrap().is_some()
            });
        }
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        let there = snapshot_if_exists(&target);
        assert!(there == old || there == new, "{step}: {there:#?}");
        if there == old {
            delay += whole / 60;
        } else {
            delay = Duration::ZERO;
        }
        assert_eq!(world.listed("guard")["changed"], false);
        if staging.exists() {
            within += 1;
        } else if there == old {
            before += 1;
        } else {
            after += 1;
        }
        world.ext(&["disable", "guard"]);
        assert!(!staging.exists());
        assert_eq!(world.listed("guard")["changed"], false);
    }
    println!(
        "update: killed {before} before, {within} during, {after} after the swap, in {whole:?}"
    );
    assert!(
        within >= 10,
        "only {within} of 50 were killed during the update"
    );
}

/// File systems that cannot exchange two names need two renames. The next command completes a swap
/// that was killed between them.
#[test]
fn a_swap_killed_between_two_renames_is_completed() {
    let world = World::in_memory();
    source(&world, "2");
    world.ext(&["install", "guard"]);
    let new = snapshot_if_exists(&world.installed("guard"));
    let lock = fs::read_to_string(world.path("zot/extensions.lock")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    for is_whole in [true, false] {
        let world = World::in_memory();
        source(&world, "1");
        world.ext(&["install", "guard"]);
        let old = snapshot_if_exists(&world.installed("guard"));
        let staging = world.path("zot/extensions/.staging");
        fs::create_dir(&staging).unwrap();
        package::write(&staging.join("new"), "guard", "2");
        fs::rename(world.installed("guard"), staging.join("old")).unwrap();
        let inode = fs::metadata(staging.join("new")).unwrap().ino() + u64::from(!is_whole);
        let entry = &lock["extensions"]["guard"];
        let journal = json!({"step": "swap", "name": "guard", "inode": inode, "entry": entry});
        fs::write(staging.join("journal.json"), journal.to_string()).unwrap();
        package::write(&world.work().join("other"), "other", "1");
        world.ext(&["install", "other"]);
        let there = snapshot_if_exists(&world.installed("guard"));
        assert!(
            there == if is_whole { new.clone() } else { old },
            "{there:#?}"
        );
        assert_eq!(world.listed("guard")["changed"], false);
        assert!(!staging.exists());
    }
}
