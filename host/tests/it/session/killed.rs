//! A writer that is killed with -9, again and again, at any point.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    io::{BufRead, BufReader, Write, stdout},
    process::Stdio,
    time::Duration,
};

use super::*;
use crate::support::{is_played, rerun, soak};

const DIR: &str = "ZOT_HOST_TEST_DIR";

/// The message of this number: whole turns, now and then a large one, which a kill can cut in the middle.
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

/// Goes on with the session for ever, and says each message that is written.
#[test]
#[ignore = "played by another process"]
fn writer() {
    if !is_played("session::killed::writer") {
        return;
    }
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
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
fn every_message_that_was_acknowledged_is_there() {
    let world = World::new();
    let seed = RandomState::new().hash_one(());
    println!("seed {seed}");
    let mut random = seed | 1;
    let mut torn = 0;
    for round in 0..25 * soak() {
        let mut child = rerun("session::killed::writer")
            .env(DIR, world.dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number = |line: &str| line.strip_prefix("written ")?.parse::<u64>().ok();
        let mut acknowledged = lines.find_map(|line| number(&line.unwrap()));
        assert!(acknowledged.is_some(), "round {round}");
        // Xorshift: any point will do.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines {
            acknowledged = number(&line.unwrap()).or(acknowledged);
        }

        let opened = world.resume();
        let there = opened.session.messages();
        assert!(Some(there) > acknowledged, "{there} of {acknowledged:?}");
        let expected: Vec<_> = (0..there).map(nth).collect();
        let kept = usize::try_from(there).unwrap();
        // Only the calls of the last round wait for results: the writer goes on where it was.
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
        "{torn} ends were torn, {} messages",
        world.resume().session.messages()
    );
}
