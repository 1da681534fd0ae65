//! A repository that unpacks to far more than it takes: refused before it is read, over every transport.

use std::fs::File;

use crate::support::{
    World,
    daemon::Daemon,
    http::{Manner, Server},
    memory,
    package::{self, Repository},
};

/// More than a package may have, and little on the disk and on the wire.
const BLOB: u64 = 300 << 20;
/// Beyond what zot takes for a small package.
const GROWTH: u64 = 64 << 20;
const ADDRESS_SPACE: u64 = 8 << 30;

/// Item 17.
#[test]
fn a_huge_file_in_a_small_repository_is_refused_in_little_memory_over_every_transport() {
    let world = World::new();
    let small = Repository::new(&world, "small");
    small.release("small", "1");
    let file_url = small.file_url();
    let install = ["ext", "install", &file_url, "--yes"];
    let (ran, base) = memory::peak(&world, ADDRESS_SPACE, &install);
    assert_eq!(ran.code, Some(0), "{ran:#?}");

    let tip = Repository::new(&world, "tip");
    package::write(&tip.dir, "guard", "1");
    let file = File::create(tip.dir.join("zeros")).expect("made");
    file.set_len(BLOB).expect("grown");
    tip.commit("large");
    // Only in the history, and behind a tag: neither is wanted.
    let past = Repository::new(&world, "past");
    package::write(&past.dir, "past", "1");
    std::fs::rename(tip.dir.join("zeros"), past.dir.join("zeros")).expect("moved");
    past.commit("large");
    let blob = past.git(&["rev-parse", "HEAD:zeros"]);
    past.git(&["tag", "blob", &blob]);
    std::fs::remove_file(past.dir.join("zeros")).expect("removed");
    past.commit("small again");

    let root = world.path("repositories");
    let (http, daemon) = (
        Server::start(Manner::Serve(root.clone())),
        Daemon::start(&world, &root),
    );
    for url in [tip.file_url(), http.url("tip/.git"), daemon.url("tip/.git")] {
        let args = ["ext", "install", &url, "--yes"];
        let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &args);
        assert_eq!(ran.code, Some(1), "{url} {ran:#?}");
        let why = "it is larger than 256 MiB, of which `zeros` has 300 MiB";
        assert!(ran.err.contains(why), "{url} {ran:#?}");
        assert!(peak < base + GROWTH, "{url}: {peak}, usually {base}");
    }
    for url in [
        past.file_url(),
        http.url("past/.git"),
        daemon.url("past/.git"),
    ] {
        let args = ["ext", "install", &url, "--yes", "--force"];
        let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &args);
        assert_eq!(ran.code, Some(0), "{url} {ran:#?}");
        assert!(peak < base + GROWTH, "{url}: {peak}, usually {base}");
    }
    let (ran, peak) = memory::peak(
        &world,
        ADDRESS_SPACE,
        &[
            "ext",
            "install",
            &format!("{}#blob", past.file_url()),
            "--yes",
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(peak < base + GROWTH, "{peak}, usually {base}");
}
