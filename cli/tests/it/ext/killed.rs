//! `kill -9` before and after every system call that changes a file: the old version or the new, never a mixture.

use std::{fs, path::Path};

use crate::support::{
    World, package, skipped,
    snapshot::{self, Snapshot},
    traced::{Traced, kill_at},
};

/// What may be at an extension's place.
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

fn at(path: &Path) -> Option<Snapshot> {
    path.exists().then(|| snapshot::of(path))
}

/// Kills `act` at every point there is, each time from the same beginning.
fn kill_everywhere(
    name: &str,
    prepare: impl Fn(&World),
    args: &[&str],
    still_right: impl Fn(&World),
) -> Option<Tally> {
    let command_in = |world: &World| {
        let args: Vec<&str> = ["ext"].iter().chain(args).copied().collect();
        world.zot_command(&args)
    };
    let fresh = || {
        let world = World::new();
        prepare(&world);
        world
    };
    let world = fresh();
    let target = |world: &World| world.installed("guard");
    let old = at(&target(&world));
    let calls = match kill_at(&mut command_in(&world), usize::MAX) {
        Ok(Traced::Ended { calls, code: 0 }) => calls,
        Ok(other) => panic!("{name}: {other:?}"),
        Err(error) => {
            skipped(&format!("no tracing here: {error}"));
            return None;
        }
    };
    let versions = Versions {
        old,
        new: at(&target(&world)),
    };
    let mut tally = Tally::default();
    for nth in 1..=calls {
        let world = fresh();
        let killed = kill_at(&mut command_in(&world), nth).expect("traced as before");
        assert_eq!(killed, Traced::Killed, "{name} at {nth} of {calls}");
        tally.points += 1;
        let there = at(&target(&world));
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
        // What is told of it is right before anybody has cleaned up, and after.
        let told = |world: &World| {
            let listed = world.listed("guard");
            if there.is_some() {
                assert_eq!(
                    listed["changed"], false,
                    "{name} at {nth} of {calls}: {listed}"
                );
            }
        };
        told(&world);
        still_right(&world);
        package::write(&world.work().join("other"), "other", "1");
        world.ext(&["install", "other"]);
        assert_eq!(at(&target(&world)), there, "{name} at {nth} of {calls}");
        told(&world);
        let mut left: Vec<_> = fs::read_dir(world.path("zot/extensions"))
            .expect("there")
            .map(|entry| entry.expect("an entry").file_name())
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
fn while_it_is_replaced() {
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
fn while_it_is_installed_for_the_first_time() {
    let prepare = |world: &World| source(world, "1");
    let Some(tally) = kill_everywhere("install", prepare, &["install", "guard"], |_| {}) else {
        return;
    };
    assert!(tally.points >= 50, "{tally:?}");
}

#[test]
fn while_it_is_removed() {
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
fn while_it_is_disabled() {
    let prepare = |world: &World| {
        source(world, "1");
        world.ext(&["install", "guard"]);
    };
    kill_everywhere("disable", prepare, &["disable", "guard"], |world| {
        let state = &world.listed("guard")["state"];
        assert!(state == "enabled" || state == "disabled", "{state}");
    });
}
