//! Ctrl-C, and the questions that are asked on a terminal.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Ran, World,
    http::{Behaviour, Server},
    package::{self, Repository},
    snapshot, terminal, wait_until,
};

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("invalid pid"), signal).expect("failed to send signal");
}

fn spawn(world: &World, args: &[&str]) -> Child {
    let mut command = world.zot_command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("failed to start zot")
}

#[test]
fn while_a_server_is_silent_it_ends_at_once() {
    for number in [Signal::INT, Signal::TERM] {
        let world = World::new();
        let server = Server::start(Behaviour::Silent);
        let before = snapshot::of(world.root());
        let child = spawn(&world, &["ext", "install", &server.url("guard")]);
        wait_until("it asks", || !server.requests().is_empty());
        let start = Instant::now();
        signal(&child, number);
        let ran = Ran::of(child.wait_with_output().expect("failed to wait"));
        // Long before a silent server is given up, which would be no interruption either.
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert!(
            ran.err.ends_with("interrupted; everything is as it was\n"),
            "{}",
            ran.err
        );
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

#[test]
fn while_a_server_is_only_asked_nothing_is_left_either() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    world.ext(&["install", &repository.file_url()]);
    let server = Server::start(Behaviour::Silent);
    let lock = world.path("zot/extensions.lock");
    let text = fs::read_to_string(&lock).unwrap();
    fs::write(
        &lock,
        text.replace(&repository.file_url(), &server.url("guard")),
    )
    .unwrap();
    let before = snapshot::of(world.root());
    for (verb, asked) in [("outdated", 1), ("update", 2)] {
        let child = spawn(&world, &["ext", verb]);
        wait_until("it asks", || server.requests().len() == asked);
        signal(&child, Signal::INT);
        let ran = Ran::of(child.wait_with_output().expect("failed to wait"));
        assert_eq!(ran.code, Some(130), "{ran:?}");
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

/// At many moments of a longer installation: what was there before and 130, or the new version and 0.
#[test]
fn at_any_moment_everything_is_as_before_or_done() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    package::write(&repository.dir, "guard", "1");
    for index in 0..300 {
        fs::write(
            repository.dir.join(format!("lib/{index}")),
            vec![b'x'; 2000],
        )
        .unwrap();
    }
    repository.commit("one");
    world.ext(&["install", &repository.file_url()]);
    repository.release("guard", "2");
    let outside = |world: &World| snapshot::of(&world.path("zot"));
    let old = outside(&world);
    let start = Instant::now();
    world.ext(&["update"]);
    let whole = start.elapsed();
    let new = outside(&world);
    let (mut before, mut after) = (0, 0);
    // Later each time until one was done, then from the beginning: however busy the machine is, some are hit in the middle.
    let mut delay = Duration::ZERO;
    for _ in 0..20 {
        // Back to the old one.
        fs::remove_dir_all(world.path("zot")).unwrap();
        repository.git(&["checkout", "-q", "HEAD~1"]);
        world.ext(&["install", &repository.file_url(), "--ref", "HEAD"]);
        repository.git(&["checkout", "-q", "main"]);
        let installed = outside(&world);
        let child = spawn(&world, &["ext", "update"]);
        thread::sleep(delay);
        let _ = i32::try_from(child.id()).map(|pid| {
            // It may have ended already.
            Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::INT))
        });
        let output = child.wait_with_output().expect("failed to wait");
        // Before it has set itself up, a signal is one like any other.
        if output.status.signal() == Some(2) || output.status.code() == Some(130) {
            before += 1;
            delay += whole / 18;
            snapshot::assert_same(&installed, &outside(&world));
        } else {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            after += 1;
            delay = Duration::ZERO;
            assert_eq!(world.listed("guard")["version"], "2");
            assert_eq!(world.listed("guard")["changed"], false);
        }
    }
    println!("{before} interrupted, {after} done");
    assert!(before >= 3, "{before} of 20 were interrupted");
    assert_ne!(old, new);
}

#[test]
fn on_a_terminal_it_asks_first() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1.0");
    let before = snapshot::of(world.root());
    for (answer, code) in [("n", 1), ("-", 1), ("^C", 130)] {
        let ran = terminal::zot(&world, 80, &[answer], &["ext", "install", "guard"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(
            ran.out
                .contains("it declares no permissions, and has your full rights"),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("install guard? [y/N] "), "{}", ran.out);
        assert!(ran.out.contains("everything is as it was"), "{}", ran.out);
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
    let ran = terminal::zot(&world, 80, &["y"], &["ext", "install", "guard"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The same once more needs no consent.
    let ran = terminal::zot(&world, 80, &[], &["ext", "install", "guard"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    package::write(&world.work().join("guard"), "guard", "2.0");
    let ran = terminal::zot(&world, 80, &[], &["ext", "install", "guard", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(world.listed("guard")["version"], "2.0");
}

#[test]
fn without_a_terminal_what_was_named_is_installed_and_its_rights_are_shown() {
    let world = World::new();
    package::write_with(
        &world.work().join("guard"),
        &serde_json::json!({
            "name": "guard", "version": "1.0", "exec": "./run.sh", "args": ["--fast"],
            "description": "refuses\u{1b}[31m what \u{202e}it must",
            "permissions": {"fs": {"read": ["$cwd", "~/.cache"], "write": ["$cwd/out"]}, "net": [443], "env": ["RULES"]},
        }),
    );
    let out = world.ext(&["install", "guard"]).out;
    let shown: Vec<&str> = out.lines().skip(1).take(6).collect();
    assert_eq!(
        shown,
        [
            r"guard 1.0: refuses\u{1b}[31m what \u{202e}it must",
            "  runs     ./run.sh --fast",
            "  reads    $cwd  ~/.cache",
            "  writes   $cwd/out",
            "  gets     RULES",
            "  network  TCP to 443",
        ]
    );
}

#[test]
fn progress_is_for_terminals() {
    let world = World::new();
    let server = Server::start(Behaviour::Silent);
    let url = server.url("guard");
    let answers = ["waiting for the server=^C"];
    let ran = terminal::zot(&world, 80, &answers, &["ext", "install", &url]);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let said = format!("\r\x1b[Kfetching {url}: waiting for the server");
    assert!(ran.out.contains(&said), "{:?}", ran.out);
    // The line is gone before anything else is said.
    assert!(
        ran.out.contains("^C\r\x1b[K\x1b[31merror:"),
        "{:?}",
        ran.out
    );
}

#[test]
fn progress_has_objects_and_bytes() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    package::write(&repository.dir, "guard", "1");
    // What cannot be made smaller on the way.
    let mut noise = vec![0; 1024 * 1024];
    let mut random = fs::File::open("/dev/urandom").unwrap();
    std::io::Read::read_exact(&mut random, &mut noise).unwrap();
    fs::write(repository.dir.join("noise"), noise).unwrap();
    repository.commit("noise");
    let server = Server::start(Behaviour::ServeSlowly(world.path("repositories")));
    let url = server.url("guard/.git");
    let ran = terminal::zot(&world, 80, &["y"], &["ext", "install", &url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown: Vec<&str> = ran
        .out
        .split("\r\x1b[K")
        .filter(|line| line.starts_with("fetching http://") && line.contains("/9 objects, "))
        .collect();
    assert!(shown.len() > 1, "{:?}", ran.out);
    assert!(shown.iter().all(|line| line.ends_with("iB")), "{shown:?}");
    // Elsewhere nothing of it is said.
    let ran = world.ext(&["install", &url, "--force"]);
    assert_eq!(ran.err, "");
}
