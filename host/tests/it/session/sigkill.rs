//! A writer that is repeatedly killed with SIGKILL at random times.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    io::{BufRead, BufReader, Write, stdout},
    process::Stdio,
    time::Duration,
};

use super::*;
use crate::support::{is_helper_process, rerun, soak_factor};

/// The message with this number. Some are large, so that a kill can cut them off.
fn nth(number: u64) -> Message {
    let id = number.to_string();
    match number % 4 {
        0 if number.is_multiple_of(8) => user(&id.repeat(300_000 / id.len())),
        0 => user(&id),
        1 => calls(&number.to_string()),
        2 => result(&(number - 1).to_string()),
        _ => assistant(&id),
    }
}

/// Appends to the session forever, and prints the number of each message after writing it.
#[test]
#[ignore = "helper process for another test"]
fn helper_writer() {
    if !is_helper_process("session::sigkill::helper_writer") {
        return;
    }
    let dir = helper_dir();
    let opened = sessions_in(&dir).continue_latest("demo", "demo").unwrap();
    let mut session = opened.session;
    let mut out = stdout().lock();
    for number in session.messages().. {
        let _ = session.append(&nth(number)).unwrap();
        out.write_all(format!("\nwritten {number}\n").as_bytes())
            .unwrap();
        out.flush().unwrap();
        if number % 32 == 31 {
            let _ = session.sync().unwrap();
        }
    }
}

#[test]
fn every_acknowledged_message_survives_a_kill() {
    let fixture = SessionFixture::new();
    let seed = RandomState::new().hash_one(());
    println!("seed {seed}");
    let mut random = seed | 1;
    let mut torn = 0;
    for round in 0..25 * soak_factor() {
        let mut child = rerun("session::sigkill::helper_writer")
            .env(DIR, fixture.dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number = |line: &str| line.strip_prefix("written ")?.parse::<u64>().ok();
        let mut acknowledged = lines.find_map(|line| number(&line.unwrap()));
        assert!(acknowledged.is_some(), "round {round}");
        // Xorshift is random enough to choose a time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines {
            acknowledged = number(&line.unwrap()).or(acknowledged);
        }

        let opened = fixture.resume();
        let there = opened.session.messages();
        assert!(Some(there) > acknowledged, "{there} of {acknowledged:?}");
        let expected: Vec<_> = (0..there).map(nth).collect();
        let kept = usize::try_from(there).unwrap();
        // Each writer continues where the previous one stopped, so at most the last call has no
        // result.
        assert!(opened.transcript[..kept] == expected[..], "round {round}");
        for notice in &opened.notices {
            match notice {
                Notice::Torn { .. } => torn += 1,
                Notice::Cancelled { calls: 1 } => assert_eq!(there % 4, 2),
                other => panic!("{other}"),
            }
        }
    }
    println!(
        "{torn} torn lines, {} messages",
        fixture.resume().session.messages()
    );
}
