//! Any bytes at all.

use proptest::prelude::*;
use zot_host::session::SessionError;

use super::*;

/// Opens these bytes as a session of ours, goes on with it, and opens it again.
fn survives(world: &World, bytes: &[u8]) -> Vec<Message> {
    fs::create_dir_all(world.sessions.dir()).unwrap();
    let path = world.sessions.dir().join("x.jsonl");
    fs::write(&path, bytes).unwrap();
    let mut opened = match world.sessions.open(&path, "demo", "demo") {
        // One digit makes it so.
        Err(SessionError::Newer { .. }) => return Vec::new(),
        opened => opened.unwrap(),
    };
    let _ = opened.session.append(&user("on")).unwrap();
    drop(opened.session);
    let again = world.sessions.open(&path, "demo", "demo").unwrap();
    let told = |notice: &Notice| {
        !matches!(
            notice,
            Notice::Unknown { .. } | Notice::Cancelled { .. } | Notice::Uncalled { .. }
        )
    };
    assert!(!again.notices.iter().any(told), "{:?}", again.notices);
    assert_eq!(again.transcript.last(), Some(&user("on")));
    for entry in fs::read_dir(world.sessions.dir()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    opened.transcript
}

#[test]
fn cut_at_every_byte_it_is_a_beginning_of_what_was_said() {
    let world = World::new();
    let path = world.written(&turn());
    let whole = fs::read(&path).unwrap();
    for end in 0..=whole.len() {
        let cut = &whole[..end];
        let transcript = survives(&world, cut);
        // A line that has all but its newline is whole.
        let newline = usize::from(whole.get(end) == Some(&b'\n'));
        let written = memchr::memchr_iter(b'\n', cut).count() + newline;
        let messages = written.saturating_sub(2);
        let said = &turn()[..messages];
        assert_eq!(transcript[..messages], *said, "cut at {end}");
        // A call that is the last is cancelled.
        assert_eq!(transcript.len(), messages + usize::from(messages == 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        survives(&World::new(), &bytes);
    }

    #[test]
    fn lines_in_any_order_with_holes_are_survived(
        picks in proptest::collection::vec((0..9_usize, any::<u8>(), 0..200_usize), 0..20)
    ) {
        let world = World::new();
        let path = world.written(&turn());
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let mut bytes = Vec::new();
        for (pick, byte, at) in picks {
            let mut line = lines.get(pick).map_or(&b"{\"type\":\"star\"}"[..], |line| line.as_bytes()).to_vec();
            if byte % 3 == 0 {
                let at = at % line.len();
                line[at] = byte;
            }
            bytes.extend(line);
            bytes.push(b'\n');
        }
        survives(&world, &bytes);
    }
}
