//! Repositories that unpack to far more than they transfer are refused early, over every transport.

use std::fs::File;

use crate::support::{
    World,
    git_daemon::GitDaemon,
    git_http::{Behaviour, Server},
    memory,
    package::{self, Repository},
};

/// The size of a file of zeros. It exceeds the size limit for packages, but compresses to almost
/// nothing.
const BLOB: u64 = 300 << 20;
/// Memory allowed on top of what zot needs for a small package.
const GROWTH: u64 = 64 << 20;
const ADDRESS_SPACE: u64 = 8 << 30;

#[test]
fn a_huge_file_is_refused_over_every_transport_without_using_much_memory() {
    let world = World::new();
    let small = Repository::new(&world, "small");
    small.release("small", "1");
    let file_url = small.file_url();
    let install = ["ext", "install", &file_url, "--yes"];
    let (ran, base) = memory::peak(&world, ADDRESS_SPACE, &install);
    assert_eq!(ran.code, Some(0), "{ran:#?}");

    let tip = Repository::new(&world, "tip");
    package::write(&tip.dir, "guard", "1");
    let file = File::create(tip.dir.join("zeros")).expect("failed to create file");
    file.set_len(BLOB).expect("failed to set file size");
    tip.commit("large");
    // The large file is only in the history and behind a tag, so it must not be fetched.
    let past = Repository::new(&world, "past");
    package::write(&past.dir, "past", "1");
    std::fs::rename(tip.dir.join("zeros"), past.dir.join("zeros")).expect("failed to rename");
    past.commit("large");
    let blob = past.git(&["rev-parse", "HEAD:zeros"]);
    past.git(&["tag", "blob", &blob]);
    std::fs::remove_file(past.dir.join("zeros")).expect("failed to remove");
    past.commit("small again");

    let root = world.path("repositories");
    let (http, daemon) = (
        Server::start(Behaviour::Serve(root.clone())),
        GitDaemon::start(&world, &root),
    );
    for url in [tip.file_url(), http.url("tip/.git"), daemon.url("tip/.git")] {
        let args = ["ext", "install", &url, "--yes"];
        let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &args);
        assert_eq!(ran.code, Some(1), "{url} {ran:#?}");
        let why = "package is larger than 256 MiB (`zeros` is 300 MiB)";
        assert!(ran.err.contains(why), "{url} {ran:#?}");
        assert!(peak < base + GROWTH, "{url}: {peak}, baseline {base}");
    }
    for url in [
        past.file_url(),
        http.url("past/.git"),
        daemon.url("past/.git"),
    ] {
        let args = ["ext", "install", &url, "--yes", "--force"];
        let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &args);
        assert_eq!(ran.code, Some(0), "{url} {ran:#?}");
        assert!(peak < base + GROWTH, "{url}: {peak}, baseline {base}");
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
    assert!(peak < base + GROWTH, "{peak}, baseline {base}");
}

/// Writes a repository in which a file is stored as a delta that copies a smaller one 64 times.
const BOMB: &str = r#"
import hashlib, os, struct, subprocess, sys, zlib
os.chdir(sys.argv[1])
subprocess.run(["git", "init", "-q", "-b", "main", "."], check=True)
# Otherwise a server would send the whole file instead of the delta.
subprocess.run(["git", "config", "core.bigFileThreshold", "10g"], check=True)
SIZE, TIMES = 0xffffff, 64
def oid(kind, data):
    return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data).digest()
def number(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])
def entry(kind, data, base=b""):
    first, rest = kind << 4 | len(data) & 15, len(data) >> 4
    head = bytes([first | (0x80 if rest else 0)]) + (number(rest) if rest else b"")
    return head + base + zlib.compress(data, 9)
base = bytes(SIZE)
delta = number(SIZE) + number(SIZE * TIMES) + b"\xf0\xff\xff\xff" * TIMES
whole = hashlib.sha1(b"blob %d\0" % (SIZE * TIMES))
for _ in range(TIMES):
    whole.update(base)
manifest = b'{"name": "guard", "exec": "true"}'
tree = b"100644 base\0" + oid(b"blob", base) + b"100644 extension.json\0" + oid(b"blob", manifest) + b"100644 zeros\0" + whole.digest()
who = b"a <a@example.org> 1 +0000"
commit = b"tree " + oid(b"tree", tree).hex().encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\nx\n"
objects = [
    (oid(b"blob", base), entry(3, base)),
    (whole.digest(), entry(7, delta, oid(b"blob", base))),
    (oid(b"blob", manifest), entry(3, manifest)),
    (oid(b"tree", tree), entry(2, tree)),
    (oid(b"commit", commit), entry(1, commit)),
]
pack, index = b"PACK" + struct.pack(">II", 2, len(objects)), []
for id, data in objects:
    index.append((id, zlib.crc32(data), len(pack)))
    pack += data
pack += hashlib.sha1(pack).digest()
index.sort()
idx = b"\xfftOc" + struct.pack(">I", 2)
for first in range(256):
    idx += struct.pack(">I", sum(id[0] <= first for id, _, _ in index))
idx += b"".join(id for id, _, _ in index)
idx += b"".join(struct.pack(">I", crc) for _, crc, _ in index)
idx += b"".join(struct.pack(">I", offset) for _, _, offset in index)
idx += pack[-20:]
idx += hashlib.sha1(idx).digest()
name = ".git/objects/pack/pack-" + pack[-20:].hex()
open(name + ".pack", "wb").write(pack)
open(name + ".idx", "wb").write(idx)
open(".git/refs/heads/main", "w").write(oid(b"commit", commit).hex() + "\n")
"#;

#[test]
fn a_delta_bomb_is_refused_without_unpacking_it() {
    let world = World::new();
    let dir = world.path("repositories/bomb");
    std::fs::create_dir_all(&dir).expect("failed to create directory");
    let made = world
        .command("python3")
        .args(["-c", BOMB, crate::support::text(&dir)])
        .output()
        .expect("failed to start python3");
    assert!(made.status.success(), "{made:?}");
    let root = world.path("repositories");
    let (http, daemon) = (
        Server::start(Behaviour::Serve(root.clone())),
        GitDaemon::start(&world, &root),
    );
    for url in [
        format!("file://{}", dir.display()),
        http.url("bomb/.git"),
        daemon.url("bomb/.git"),
    ] {
        let args = ["ext", "install", &url, "--yes"];
        let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &args);
        assert_eq!(ran.code, Some(1), "{url} {ran:#?}");
        assert!(ran.err.contains("is larger than"), "{url} {ran:#?}");
        assert!(peak < 3 * GROWTH, "{url}: {peak} {ran:#?}");
    }
}
