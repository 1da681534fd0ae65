//! Full and read-only disks, each simulated with a tmpfs mount.

use std::process::Command;

use zot_host::session::{Choice, SessionError};
use zot_test_support::skip::unsupported;

use super::*;
use crate::support::{is_helper_process, rerun};

/// Runs the test `part` in its own mount namespace, which the shell command `mount` sets up.
fn run_in_mount_namespace(part: &str, mount: &str) {
    let mut test = Command::new("unshare");
    test.args(["-m", "mount", "-t", "tmpfs", "x", "/mnt"]);
    if !test.output().is_ok_and(|done| done.status.success()) {
        unsupported("mounting a tmpfs is not permitted");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let inner = rerun(part);
    let mut command = Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-ec",
        &format!("cd \"$0\"; {mount}; exec \"$@\""),
    ]);
    command
        .arg(dir.path())
        .arg(inner.get_program())
        .args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap());
    }
    let output = command.env(DIR, dir.path()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(stdout.contains("1 passed"), "{stdout}{errors}");
}

#[test]
fn a_full_disk_is_reported_once_and_pending_messages_are_written_later() {
    run_in_mount_namespace(
        "session::disk_errors::helper_full_disk",
        "mkdir home project; mount -t tmpfs -o size=256k x home",
    );
}

#[test]
#[ignore = "helper process for another test"]
fn helper_full_disk() {
    if !is_helper_process("session::disk_errors::helper_full_disk") {
        return;
    }
    let dir = helper_dir();
    let sessions = sessions_in(&dir);
    let filler = dir.join("home/filler");
    let fill = || {
        let mut zeros = fs::File::create(&filler).unwrap();
        let _ = std::io::copy(&mut std::io::repeat(0), &mut zeros);
    };
    let mut opened = without_notices(sessions.create("demo", "demo"));
    let session = &mut opened.session;
    let path = session.path().unwrap().to_owned();
    let message = |number: usize| user(&format!("{number} {}", "x".repeat(3000)));

    // The disk fills up before the first message and in the middle of a page.
    let mut number = 0;
    for round in 0..3 {
        fill();
        let error = loop {
            let appended = session.append(&message(number));
            number += 1;
            match appended {
                Ok(written) => assert_eq!(written, Written::Yes, "round {round}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, SessionError::Full { .. }), "{error:?}");
        assert!(error.to_string().contains(path.to_str().unwrap()));
        for _ in 0..3 {
            assert_eq!(session.append(&message(number)).unwrap(), Written::Later);
            number += 1;
        }
        assert_eq!(session.sync().unwrap(), Written::Later);
        // A concurrent reader must only see complete lines.
        let there = fs::read(&path).unwrap_or_default();
        assert!(there.is_empty() || there.ends_with(b"\n"), "round {round}");

        fs::remove_file(&filler).unwrap();
        let caught_up = if round == 1 {
            session.sync()
        } else {
            number += 1;
            session.append(&message(number - 1))
        };
        assert_eq!(caught_up.unwrap(), Written::CaughtUp);
        let wrote = lines(&path).len();
        assert_eq!(wrote, 2 + number, "head, title, messages");
    }
    drop(opened);
    let opened = without_notices(sessions.continue_latest("demo", "demo").unwrap());
    let all: Vec<_> = (0..number).map(message).collect();
    assert!(opened.transcript == all);
    drop(opened);

    // A damaged file cannot be repaired on a full disk. It stays readable and unchanged.
    let torn = fs::read_to_string(&path).unwrap() + "{\"torn";
    fs::write(&path, &torn).unwrap();
    fill();
    let opened = sessions.continue_latest("demo", "demo").unwrap();
    assert!(matches!(notice(&opened), Notice::Off { .. }));
    assert!(opened.session.is_off());
    assert_eq!(opened.transcript.len(), number);
    assert_eq!(fs::read_to_string(&path).unwrap(), torn);
}

#[test]
fn a_read_only_home_disables_sessions_with_a_notice() {
    run_in_mount_namespace(
        "session::disk_errors::helper_read_only_disk",
        "mkdir home project; mount -t tmpfs x home",
    );
}

#[test]
#[ignore = "helper process for another test"]
fn helper_read_only_disk() {
    if !is_helper_process("session::disk_errors::helper_read_only_disk") {
        return;
    }
    let dir = helper_dir();
    let sessions = sessions_in(&dir);
    let mut opened = sessions.create("demo", "demo");
    let _ = opened.session.append(&user("hello")).unwrap();
    drop(opened);
    let home = dir.join("home");
    let done = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&home)
        .status();
    assert!(done.unwrap().success());

    for (choice, transcript) in [
        (Choice::New, vec![]),
        (Choice::Continue, vec![user("hello")]),
    ] {
        let mut opened = sessions.begin(&choice, "demo", "demo").unwrap();
        let message = notice(&opened).to_string();
        assert!(
            message.starts_with("this session will not be saved: cannot write `"),
            "{message}"
        );
        assert!(message.contains("Read-only file system"), "{message}");
        assert_eq!(opened.transcript, transcript);
        assert_eq!(opened.session.append(&user("x")).unwrap(), Written::Off);
    }
    let path = home.join("explicit.jsonl");
    let error = sessions.open(&path, "demo", "demo").unwrap_err();
    assert!(matches!(error, SessionError::Write { .. }), "{error}");
}
