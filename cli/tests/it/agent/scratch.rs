//! Command output stored in `$ZOT_HOME/scratch`: which sessions can read it, and when it is
//! removed.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::{demo, files};
use crate::support::{World, wait_until};

const LONG: &str = r#"/call bash {"command": "seq 1 20000"}"#;

fn outputs(world: &World) -> Vec<PathBuf> {
    files(&world.path("zot/scratch"))
}

/// Tries to read a file in a jailed run, with `read` and with `bash`, and returns the output.
fn read_jailed(world: &World, path: &std::path::Path, more: &[&str]) -> String {
    let path = path.display();
    let read = format!(r#"/call read {{"path": "{path}", "limit": 2}}"#);
    let cat = format!(r#"/call bash {{"command": "head -n 2 {path}"}}"#);
    let calls = format!("{read}\n{cat}");
    let ran = demo(world, &[&["--jail"], more, &["-p", &calls]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.out
}

#[test]
fn a_jailed_session_reads_only_its_own_outputs() {
    let world = World::new();
    demo(&world, &["-p", LONG]);
    let [kept] = &outputs(&world)[..] else {
        panic!("expected one output: {:?}", outputs(&world));
    };
    for folder in kept.ancestors().skip(1).take(2) {
        let mode = fs::metadata(folder)
            .expect("failed to read metadata")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
    // A resumed session can read the output that its transcript refers to.
    let said = read_jailed(&world, kept, &["--continue"]);
    assert_eq!(said.matches("1\n").count(), 2, "{said}");
    let said = read_jailed(&world, kept, &[]);
    assert!(said.contains("is outside of"), "{said}");
    assert!(said.contains("Permission denied"), "{said}");
}

#[test]
fn stored_outputs_of_a_session_are_limited() {
    let world = World::new();
    let call = r#"/call bash {"command": "yes 0123456789abcdef | head -c 30000000"}"#;
    let calls = [call; 6].join("\n");
    let ran = demo(&world, &["-p", &calls]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let size: u64 = outputs(&world)
        .iter()
        .map(|path| fs::metadata(path).expect("failed to read metadata").len())
        .sum();
    assert!(size <= 64 << 20, "{size}");
    assert!(
        ran.out.contains("of this session to make room"),
        "{}",
        ran.out
    );
}

#[test]
fn temporary_files_of_a_jailed_command_are_removed() {
    let world = World::new();
    let call = r#"/call bash {"command": "head -c 1000000 /dev/zero > $TMPDIR/x && mkdir $TMPDIR/y && echo made"}"#;
    let ran = demo(&world, &["--jail", "-p", call]);
    assert!(ran.out.contains("made"), "{ran:#?}");
    assert_eq!(outputs(&world), Vec::<PathBuf>::new());
}

#[test]
fn outputs_older_than_a_week_are_removed_at_the_next_start() {
    let world = World::new();
    demo(&world, &["-p", LONG]);
    let [kept] = &outputs(&world)[..] else {
        panic!("expected one output: {:?}", outputs(&world));
    };
    let session = kept
        .ancestors()
        .nth(2)
        .expect("path has no parent")
        .to_owned();
    let age = |days: u64| {
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        let folder = File::open(&session).expect("failed to open");
        folder
            .set_modified(then)
            .expect("failed to set modification time");
    };
    age(6);
    demo(&world, &["-p", "hello"]);
    assert!(kept.exists());
    age(8);
    let mut child = world
        .zot_command(&["rpc", "--provider", "demo"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    wait_until("the stored output is removed", || !session.exists());
    drop(child.stdin.take());
    child.wait().expect("failed to wait");
}
