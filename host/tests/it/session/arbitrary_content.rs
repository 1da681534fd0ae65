//! Session files with arbitrary content.

use proptest::prelude::*;
use zot_host::session::SessionError;

use super::*;

/// Opens these bytes as a session, appends a message, and opens the result again.
fn open_and_reopen(fixture: &SessionFixture, bytes: &[u8]) -> Vec<Message> {
    fs::create_dir_all(fixture.sessions.dir()).unwrap();
    let path = fixture.sessions.dir().join("x.jsonl");
    fs::write(&path, bytes).unwrap();
    let mut opened = match fixture.sessions.open(&path, "demo", "demo") {
        // A changed digit can turn the version into a newer one.
        Err(SessionError::Newer { .. }) => return Vec::new(),
        opened => opened.unwrap(),
    };
    let _ = opened.session.append(&user("on")).unwrap();
    drop(opened.session);
    let again = fixture.sessions.open(&path, "demo", "demo").unwrap();
    let is_unexpected = |notice: &Notice| {
        !matches!(
            notice,
            Notice::Unknown { .. } | Notice::Cancelled { .. } | Notice::Uncalled { .. }
        )
    };
    assert!(
        !again.notices.iter().any(is_unexpected),
        "{:?}",
        again.notices
    );
    assert_eq!(again.transcript.last(), Some(&user("on")));
    for entry in fs::read_dir(fixture.sessions.dir()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    opened.transcript
}

#[test]
fn a_file_cut_at_any_byte_keeps_all_complete_messages() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let whole = fs::read(&path).unwrap();
    for end in 0..=whole.len() {
        let cut = &whole[..end];
        let transcript = open_and_reopen(&fixture, cut);
        // A final line that lacks only its newline counts as complete.
        let newline = usize::from(whole.get(end) == Some(&b'\n'));
        let complete = memchr::memchr_iter(b'\n', cut).count() + newline;
        let messages = complete.saturating_sub(2);
        let expected = &turn()[..messages];
        assert_eq!(transcript[..messages], *expected, "cut at {end}");
        // A final tool call without a result is cancelled.
        assert_eq!(transcript.len(), messages + usize::from(messages == 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_recovered_from(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        open_and_reopen(&SessionFixture::new(), &bytes);
    }

    #[test]
    fn shuffled_and_corrupted_lines_are_recovered_from(
        picks in proptest::collection::vec((0..9_usize, any::<u8>(), 0..200_usize), 0..20)
    ) {
        let fixture = SessionFixture::new();
        let path = fixture.write_session(&turn());
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
        open_and_reopen(&fixture, &bytes);
    }
}
