//! `zot ext logs`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use zot_process::{LogFile, LogLimits, untimed};

use crate::support::{RunOutput, World, package, process};

/// Timeout for each step. It only expires if zot hangs.
const HANG: Duration = Duration::from_secs(60);

fn world(log: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("zot/logs")).expect("failed to create directory");
    fs::write(world.path("zot/logs/ext-guard.log"), log).expect("failed to write");
    world
}

fn numbered(count: usize) -> String {
    let lines: Vec<String> = (1..=count).map(|line| format!("line {line}\n")).collect();
    lines.concat()
}

fn spawn_follow(world: &World) -> Child {
    world
        .zot_command(&["ext", "logs", "guard", "-f"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("failed to start zot")
}

/// Starts `zot ext logs guard -f` and returns its lines as they arrive.
fn follow(world: &World) -> (Child, Receiver<String>) {
    let mut child = spawn_follow(world);
    let stdout = child.stdout.take().expect("should be piped");
    let (to, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if to.send(line.expect("not valid UTF-8")).is_err() {
                return;
            }
        }
    });
    (child, lines)
}

#[test]
fn logs_shows_the_last_lines_without_control_characters() {
    let lines = numbered(150);
    let world = world(&format!(
        "{lines}\x1b]0;owned\x07\x1b[31mred\x1b[0m\tand\u{9b}2J more\n"
    ));
    let ran = world.ext(&["logs", "guard"]);
    assert_eq!(ran.out.lines().count(), 100);
    assert!(ran.out.starts_with("line 52\n"), "{}", ran.out);
    assert!(
        ran.out.ends_with("line 150\nred\tand more\n"),
        "{}",
        ran.out
    );
    let ran = world.ext(&["logs", "guard", "-n", "1"]);
    assert_eq!(ran.out, "red\tand more\n");
    assert_eq!(world.ext(&["logs", "guard", "-n", "0"]).out, "");
    fs::write(world.path("zot/logs/ext-guard.log.1"), "older\n").expect("failed to write");
    let ran = world.ext(&["logs", "guard", "-n", "152"]);
    assert!(ran.out.starts_with("older\nline 1\n"), "{}", ran.out);
}

#[test]
fn logs_of_missing_and_misspelled_extensions() {
    let world = world("said\n");
    package::write(&world.installed("weather"), "weather", "1");
    assert_eq!(
        world.ext(&["logs", "guard"]).out,
        "said\n",
        "an uninstalled extension's log is shown"
    );
    let ran = world.ext(&["logs", "weather"]);
    assert_eq!(ran.out, "");
    assert!(ran.err.starts_with("no log yet: "), "{}", ran.err);
    assert_eq!(
        world.refused(&["logs", "gaurd"]),
        "error: no extension or log named `gaurd`\nhint: logs exist for guard\n"
    );
    let err = World::new().refused(&["logs", "../guard"]);
    assert!(
        err.contains("hint: a log is created when an extension first starts"),
        "{err}"
    );
}

#[test]
fn follow_continues_across_log_rotation() {
    let world = world("begins\n");
    let (mut child, lines) = follow(&world);
    assert_eq!(
        lines.recv_timeout(HANG).expect("failed to read a line"),
        "begins"
    );
    let mut limits = LogLimits::default();
    limits.file = 64 << 10;
    limits.burst = u64::MAX / 2;
    // Two hosts write to the same log, as when zot runs in two terminals.
    let path = world.path("zot/logs/ext-guard.log");
    let writers = ["a", "b"].map(|name| (name, LogFile::new(&path, &limits)));
    let mut rotations = 0;
    for round in 0..20 {
        let inode = |path| fs::metadata(path).map(|it| std::os::unix::fs::MetadataExt::ino(&it));
        let before = inode(&path).ok();
        for (name, writer) in &writers {
            let lines: Vec<String> = (0..200)
                .map(|line| {
                    format!(
                        "{name} {round} {line} {}
",
                        "x".repeat(80)
                    )
                })
                .collect();
            writer.feed(lines.concat().as_bytes());
        }
        rotations += usize::from(inode(&path).ok() != before);
        for (name, _) in &writers {
            for line in 0..200 {
                let seen = lines.recv_timeout(HANG).expect("failed to read a line");
                let wanted = format!("{name} {round} {line} ");
                assert!(untimed(&seen).starts_with(&wanted), "{wanted}, not {seen}");
            }
        }
    }
    assert!(rotations > 5, "{rotations}");
    process::signal(&child, Signal::INT);
    assert!(
        child.wait().expect("failed to wait").success(),
        "Ctrl-C is the normal way to stop it"
    );
}

#[test]
fn follow_exits_quietly_when_its_pipe_is_closed() {
    let world = world("one\n");
    let mut child = spawn_follow(&world);
    let mut stdout = BufReader::new(child.stdout.take().expect("should be piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("failed to read a line");
    // No more lines are written, so zot must notice the closed pipe by itself.
    drop(stdout);
    let ran = RunOutput::of(child.wait_with_output().expect("failed to wait"));
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
}

#[test]
fn logs_exits_quietly_when_piped_into_head() {
    let world = world(&numbered(100_000));
    let script = r#""$zot" ext logs guard -n 100000 | head -n 1; echo "${PIPESTATUS[0]}""#;
    let output = world
        .command("bash")
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .args(["-c", script])
        .output()
        .expect("failed to start bash");
    let ran = RunOutput::of(output);
    assert_eq!((&*ran.out, &*ran.err), ("line 1\n0\n", ""));
}

#[test]
fn follow_waits_for_a_missing_log_to_appear() {
    let world = World::new();
    package::write(&world.installed("guard"), "guard", "1");
    let (mut child, lines) = follow(&world);
    let mut stderr = BufReader::new(child.stderr.take().expect("should be piped"));
    let mut said = String::new();
    stderr.read_line(&mut said).expect("failed to read a line");
    assert!(said.ends_with("; waiting for output\n"), "{said}");
    LogFile::new(world.path("zot/logs/ext-guard.log"), &LogLimits::default()).note("begins");
    let line = lines.recv_timeout(HANG).expect("failed to read a line");
    assert_eq!(untimed(&line), "[zot] begins");
    process::signal(&child, Signal::INT);
    assert!(child.wait().expect("failed to wait").success());
}
