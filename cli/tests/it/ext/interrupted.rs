//! Ctrl-C, and the questions that zot asks in a terminal.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    RunOutput, World,
    git_http::{Behaviour, Server},
    package::{self, Repository},
    process::signal,
    snapshot, terminal, wait_until,
};

fn spawn(world: &World, args: &[&str]) -> Child {
    let mut command = world.zot_command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("failed to start zot")
}

#[test]
fn a_signal_while_a_server_is_silent_ends_zot_immediately() {
    for number in [Signal::INT, Signal::TERM] {
        let world = World::new();
        let server = Server::start(Behaviour::Silent);
        let before = snapshot::of(world.root());
        let child = spawn(&world, &["ext", "install", &server.url("guard")]);
        wait_until("zot sends a request", || !server.requests().is_empty());
        let start = Instant::now();
        signal(&child, number);
        let ran = RunOutput::of(child.wait_with_output().expect("failed to wait"));
        // zot must exit long before the timeout for a silent server.
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert!(
            ran.err.ends_with("interrupted; nothing was changed\n"),
            "{}",
            ran.err
        );
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

#[test]
fn ctrl_c_during_outdated_and_update_changes_nothing() {
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
        wait_until("zot sends a request", || server.requests().len() == asked);
        signal(&child, Signal::INT);
        let ran = RunOutput::of(child.wait_with_output().expect("failed to wait"));
        assert_eq!(ran.code, Some(130), "{ran:?}");
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

/// Interrupts a long update at many points. Each time, either nothing has changed and the exit code
/// is 130, or the update has completed and the exit code is 0.
#[test]
fn an_interrupted_update_changes_nothing_or_completes() {
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
    let home = |world: &World| snapshot::of(&world.path("zot"));
    let old = home(&world);
    let start = Instant::now();
    world.ext(&["update"]);
    let whole = start.elapsed();
    let new = home(&world);
    let (mut before, mut after) = (0, 0);
    // Interrupt later each time until an update completes, then start over. This covers many points
    // of the update, however busy the machine is.
    let mut delay = Duration::ZERO;
    for _ in 0..20 {
        // Reinstall the old version.
        fs::remove_dir_all(world.path("zot")).unwrap();
        repository.git(&["checkout", "-q", "HEAD~1"]);
        world.ext(&["install", &repository.file_url(), "--ref", "HEAD"]);
        repository.git(&["checkout", "-q", "main"]);
        let installed = home(&world);
        let child = spawn(&world, &["ext", "update"]);
        thread::sleep(delay);
        // zot may have exited already.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let output = child.wait_with_output().expect("failed to wait");
        // A signal that arrives before zot installs its handler kills it directly.
        if output.status.signal() == Some(2) || output.status.code() == Some(130) {
            before += 1;
            delay += whole / 18;
            snapshot::assert_same(&installed, &home(&world));
        } else {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            after += 1;
            delay = Duration::ZERO;
            assert_eq!(world.listed("guard")["version"], "2");
            assert_eq!(world.listed("guard")["changed"], false);
        }
    }
    println!("{before} interrupted, {after} completed");
    assert!(before >= 3, "only {before} of 20 were interrupted");
    assert_ne!(old, new);
}

#[test]
fn install_asks_on_a_terminal() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1.0");
    let before = snapshot::of(world.root());
    for (answer, code) in [("n", 1), ("-", 1), ("^C", 130)] {
        let ran = terminal::zot(&world, 80, &[answer], &["ext", "install", "guard"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(
            ran.out
                .contains("it declares no permissions and can do anything you can"),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("install guard? [y/N] "), "{}", ran.out);
        assert!(ran.out.contains("nothing was changed"), "{}", ran.out);
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
    let ran = terminal::zot(&world, 80, &["y"], &["ext", "install", "guard"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Reinstalling the same version needs no consent.
    let ran = terminal::zot(&world, 80, &[], &["ext", "install", "guard"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    package::write(&world.work().join("guard"), "guard", "2.0");
    let ran = terminal::zot(&world, 80, &[], &["ext", "install", "guard", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(world.listed("guard")["version"], "2.0");
}

#[test]
fn without_a_terminal_install_does_not_ask_and_shows_permissions() {
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
fn progress_is_shown_on_a_terminal_and_cleared() {
    let world = World::new();
    let server = Server::start(Behaviour::Silent);
    let url = server.url("guard");
    let answers = ["waiting for the server=^C"];
    let ran = terminal::zot(&world, 80, &answers, &["ext", "install", &url]);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let said = format!("\r\x1b[Kfetching {url}: waiting for the server");
    assert!(ran.out.contains(&said), "{:?}", ran.out);
    // The progress line is cleared before the error is printed.
    assert!(
        ran.out.contains("^C\r\x1b[K\x1b[31merror:"),
        "{:?}",
        ran.out
    );
}

#[test]
fn progress_shows_objects_and_bytes() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    package::write(&repository.dir, "guard", "1");
    // Random data, which does not compress.
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
    // Without a terminal, no progress is shown.
    let ran = world.ext(&["install", &url, "--force"]);
    assert_eq!(ran.err, "");
}
