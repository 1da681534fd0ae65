//! Listing sessions.

use std::{
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use super::*;

#[test]
fn sessions_are_listed_with_title_and_count_newest_first() {
    let fixture = SessionFixture::new();
    let first = fixture.write_session(&turn());
    fixture.write_session(&[user("second\nthing")]);
    let mut third = fixture.create();
    let _ = third.session.append(&assistant("no title yet")).unwrap();
    let _ = third.session.compact(&user("summary")).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::options().append(true).open(&first).unwrap();
    file.set_modified(old).unwrap();

    let listed = fixture.sessions.list();
    let shown: Vec<_> = listed
        .sessions
        .iter()
        .map(|it| (it.title.as_deref(), it.messages))
        .collect();
    let expected = [(None, 1), (Some("second"), 1), (Some("look at it"), 4)];
    assert_eq!(shown, expected);
    assert_eq!(listed.sessions[2].path, first);
    assert_eq!(listed.sessions[2].updated, old);
    assert_eq!(listed.sessions[0].head.id, third.session.id());
    assert!(listed.unreadable.is_empty());
}

#[test]
fn torn_sessions_are_listed_and_other_files_are_not() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let long = "x".repeat(100_000);
    let torn = fs::read_to_string(&path).unwrap() + "{\"type\":\"message\",\"m" + &long;
    fs::write(&path, torn).unwrap();
    let dir = fixture.sessions.dir();
    fs::write(dir.join("garbage.jsonl"), "garbage").unwrap();
    fs::write(dir.join("empty.jsonl"), "").unwrap();
    fs::write(dir.join("x.jsonl.bad"), "garbage").unwrap();
    fs::create_dir(dir.join("folder.jsonl")).unwrap();
    symlink(&path, dir.join("link.jsonl")).unwrap();
    let listed = fixture.sessions.list();
    let [entry] = &listed.sessions[..] else {
        panic!("{listed:?}")
    };
    assert_eq!(
        (entry.messages, entry.title.as_deref()),
        (4, Some("look at it"))
    );
    assert_eq!(listed.unreadable, [dir.join("garbage.jsonl")]);
}

#[test]
fn a_thousand_large_sessions_are_listed_quickly() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&[user("the title"), assistant(&"x".repeat(100_000))]);
    let bytes = fs::read(&path).unwrap();
    for number in 1..1000 {
        fs::write(
            fixture.sessions.dir().join(format!("{number}.jsonl")),
            &bytes,
        )
        .unwrap();
    }
    let start = Instant::now();
    let listed = fixture.sessions.list();
    let took = start.elapsed();
    assert_eq!(listed.sessions.len(), 1000);
    assert!(listed.sessions.iter().all(|entry| entry.messages == 2));
    println!("1000 sessions of 100 kB listed in {took:?}");
    // Allow ten times what an unoptimised build takes on a busy machine.
    assert!(took < Duration::from_secs(2), "{took:?}");
}
