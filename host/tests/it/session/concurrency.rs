//! Concurrent access to one session file.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use zot_host::session::{Choice, SessionError, export};

use super::*;
use crate::support::{is_helper_process, rerun};

/// Keeps the session open until stdin is closed.
#[test]
#[ignore = "helper process for another test"]
fn helper_holder() {
    if !is_helper_process("session::concurrency::helper_holder") {
        return;
    }
    let dir = helper_dir();
    let mut opened = sessions_in(&dir).create("demo", "demo");
    let _ = opened.session.append(&user("mine")).unwrap();
    println!("\nheld {}", opened.session.path().unwrap().display());
    let _ = std::io::stdin().read(&mut [0]);
    let _ = opened.session.append(&assistant("still mine")).unwrap();
}

#[test]
fn a_second_writer_gets_the_pid_of_the_first() {
    let fixture = SessionFixture::new();
    let mut holder = rerun("session::concurrency::helper_holder")
        .env(DIR, fixture.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let path = lines
        .find_map(|line| line.unwrap().strip_prefix("held ").map(PathBuf::from))
        .unwrap();

    for choice in [Choice::Continue, Choice::File(path.clone())] {
        let error = fixture.sessions.begin(&choice, "demo", "demo").unwrap_err();
        let SessionError::Busy { path: busy, pid } = &error else {
            panic!("{error}")
        };
        assert_eq!(*busy, path);
        assert_eq!(*pid, Some(holder.id()));
        let (message, pid) = (error.to_string(), holder.id());
        assert!(
            message.contains(&format!("is in use by process {pid}\nhint: ")),
            "{message}"
        );
    }

    // Reading and creating sessions need no lock.
    assert_eq!(fixture.sessions.list().sessions[0].messages, 1);
    export(&path, &fixture.path("out.md")).unwrap();
    assert_eq!(
        fixture.sessions.fork(&path, 1).unwrap().transcript,
        [user("mine")]
    );
    fixture.create();

    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    let opened = without_notices(fixture.sessions.open(&path, "demo", "demo").unwrap());
    assert_eq!(opened.transcript, [user("mine"), assistant("still mine")]);
}

#[test]
fn a_session_is_locked_within_one_process_too() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let held = fixture.resume();
    let error = fixture.sessions.open(&path, "demo", "demo").unwrap_err();
    assert!(
        error.to_string().contains("is in use by this process"),
        "{error}"
    );
    drop(held);
    fixture.sessions.open(&path, "demo", "demo").unwrap();
}

/// Several threads open a damaged file at the same time. Only one succeeds, and it repairs the file
/// once.
#[test]
fn only_one_writer_repairs_a_damaged_file() {
    for _ in 0..20 {
        let fixture = SessionFixture::new();
        let path = fixture.write_session(&turn());
        let damaged = fs::read_to_string(&path)
            .unwrap()
            .replacen("title", "\0", 1);
        fs::write(&path, damaged).unwrap();
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || fixture.sessions.open(&path, "demo", "demo");
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.filter_map(Result::ok).collect()
        });
        let [one] = &opened[..] else {
            panic!("expected one writer, not {}", opened.len())
        };
        assert_eq!(one.transcript, turn());
        assert_eq!(fixture.backup_files().len(), 1);
    }
}

/// A forked child briefly has a copy of every open file descriptor, but must not keep the lock.
#[test]
fn the_lock_is_released_immediately_while_processes_start() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let opened: Vec<_> = (0..300)
            .map(|_| fixture.sessions.open(&path, "demo", "demo").map(drop))
            .collect();
        over.store(true, Ordering::Relaxed);
        for result in opened {
            result.unwrap();
        }
    });
}
