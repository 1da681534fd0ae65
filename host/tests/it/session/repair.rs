//! Damaged session files: what is recovered, backed up and reported.

use std::os::unix::fs::symlink;

use zot_host::session::SessionError;

use super::*;

fn notice_text(opened: &Opened) -> String {
    let all: Vec<_> = opened.notices.iter().map(ToString::to_string).collect();
    all.join("\n")
}

#[test]
fn a_torn_last_line_is_backed_up_and_all_messages_are_kept() {
    let torn: [&[u8]; 5] = [
        br#"{"type":"mess"#,
        b"\0\0\0\0",
        b"\0\0\n\0\0\n",
        b"{\"type\":\"message\"\n",
        b"\xff\xfe",
    ];
    for tail in torn {
        let fixture = SessionFixture::new();
        let path = fixture.write_session(&turn());
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole, tail].concat()).unwrap();
        let mut opened = fixture.resume();
        let aside = path.with_extension("jsonl.torn");
        let torn = Notice::Torn {
            path: path.clone(),
            aside: aside.clone(),
            bytes: tail.len(),
        };
        assert_eq!(*notice(&opened), torn);
        assert_eq!(fs::read(&aside).unwrap(), tail);
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(opened.transcript, turn());
        let _ = opened.session.append(&user("on")).unwrap();
        drop(opened);
        assert_eq!(without_notices(fixture.resume()).transcript.len(), 5);
    }
}

#[test]
fn each_torn_line_gets_its_own_backup() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    for tail in ["{\"one", "{\"two", "{\"two"] {
        fs::write(&path, fs::read_to_string(&path).unwrap() + tail).unwrap();
        notice(&fixture.resume());
    }
    let backup_files = fixture.backup_files();
    assert_eq!(backup_files.len(), 2, "{backup_files:?}");
}

#[test]
fn a_missing_final_newline_is_repaired() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, whole.strip_suffix(b"\n").unwrap()).unwrap();
    assert_eq!(without_notices(fixture.resume()).transcript, turn());
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_eq!(fixture.backup_files().len(), 0);
}

#[test]
fn an_invalid_line_loses_only_that_line() {
    for broken in ["garbage", "{\"type\":", "\0\0\0\0", "[]", "{}", "\u{fffd}"] {
        let fixture = SessionFixture::new();
        let messages = [user("a"), assistant("b"), user("c"), assistant("d")];
        let path = fixture.write_session(&messages);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines[3] = broken;
        let damaged = lines.join("\n") + "\n";
        fs::write(&path, &damaged).unwrap();
        let mut opened = fixture.resume();
        let bad = path.with_extension("jsonl.bad");
        let damage = Notice::Damaged {
            path: path.clone(),
            aside: bad.clone(),
            messages: 3,
        };
        assert_eq!(*notice(&opened), damage);
        assert_eq!(fs::read_to_string(&bad).unwrap(), damaged);
        assert_eq!(opened.transcript, [&messages[..1], &messages[2..]].concat());
        let _ = opened.session.append(&user("on")).unwrap();
        drop(opened);
        let again = without_notices(fixture.resume());
        assert_eq!(again.transcript.len(), 4);
        assert_eq!(fixture.sessions.list().sessions[0].messages, 4);
    }
}

#[test]
fn a_missing_header_loses_no_messages() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let text = fs::read_to_string(&path).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    for damaged in [rest.to_owned(), format!("\0\0\0\n{rest}")] {
        fs::write(&path, &damaged).unwrap();
        let opened = fixture.resume();
        assert!(matches!(
            notice(&opened),
            Notice::Damaged { messages: 4, .. }
        ));
        assert_eq!(opened.transcript, turn());
        drop(opened);
        assert_eq!(lines(&path)[0]["type"], "session");
        assert_eq!(without_notices(fixture.resume()).transcript, turn());
    }
    assert_eq!(fixture.backup_files().len(), 2);
}

#[test]
fn an_unreadable_file_is_backed_up_and_a_new_session_starts() {
    let nuls = vec![0; 100_000];
    let files: [&[u8]; 5] = [
        &nuls,
        b"what is this\nno session\n",
        b"\xff\xfe\xfd",
        br#"{"type":"session","ver"#,
        b"{\"type\":\"session\",\"version\":1}\n",
    ];
    for bytes in files {
        let fixture = SessionFixture::new();
        let path = fixture.write_session(&turn());
        fs::write(&path, bytes).unwrap();
        let mut opened = fixture.resume();
        let bad = path.with_extension("jsonl.bad");
        let unreadable = Notice::Unreadable {
            path: path.clone(),
            aside: bad.clone(),
        };
        assert_eq!(*notice(&opened), unreadable);
        assert_eq!(fs::read(&bad).unwrap(), bytes);
        assert_eq!(opened.transcript, []);
        let _ = opened.session.append(&user("again")).unwrap();
        drop(opened);
        assert_eq!(
            without_notices(fixture.resume()).transcript,
            [user("again")]
        );
    }
}

#[test]
fn an_empty_file_is_not_continued_but_can_be_opened_explicitly() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    fs::write(&path, "").unwrap();
    assert_eq!(*notice(&fixture.resume()), Notice::NoneYet);
    let mut opened = fixture.sessions.open(&path, "demo", "demo").unwrap();
    assert_eq!(*notice(&opened), Notice::Empty(path.clone()));
    let _ = opened.session.append(&user("again")).unwrap();
    drop(opened);
    assert_eq!(
        without_notices(fixture.resume()).transcript,
        [user("again")]
    );
}

#[test]
fn a_file_that_is_not_a_session_is_left_unchanged() {
    let fixture = SessionFixture::new();
    let files: [&[u8]; 3] = [
        b"[package]\nname = \"mine\"\n",
        b"{\"type\":\"user\",\"text\":\"another program's\"}\n",
        b"\x7fELF\0\0\0",
    ];
    let path = fixture.path("mine");
    for bytes in files {
        fs::write(&path, bytes).unwrap();
        let error = fixture.sessions.open(&path, "demo", "demo").unwrap_err();
        assert!(matches!(error, SessionError::NotASession(_)), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // The remains of a session file are treated as a session.
    for bytes in [
        &b"\0\0\0"[..],
        br#"{"type":"sess"#,
        br#"{"type":"session","version":1,"#,
    ] {
        fs::write(&path, bytes).unwrap();
        let opened = fixture.sessions.open(&path, "demo", "demo").unwrap();
        assert!(matches!(notice(&opened), Notice::Unreadable { .. }));
    }
}

#[test]
fn special_files_are_rejected_without_blocking() {
    let fixture = SessionFixture::new();
    let fifo = fixture.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    for path in [&fifo, &fixture.path("project"), Path::new("/dev/null")] {
        let error = fixture.sessions.open(path, "demo", "demo").unwrap_err();
        let message = error.to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
}

#[test]
fn repairing_through_a_symlink_keeps_the_symlink() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let link = fixture.path("link.jsonl");
    symlink(&path, &link).unwrap();
    let damaged = fs::read_to_string(&path)
        .unwrap()
        .replacen("title", "\0", 1);
    fs::write(&path, damaged).unwrap();
    let opened = fixture.sessions.open(&link, "demo", "demo").unwrap();
    assert_eq!(opened.transcript, turn());
    assert!(link.is_symlink());
    assert_eq!(types(&path), "session message message message message");
}

#[test]
fn lines_of_a_newer_version_are_kept_and_skipped() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let newer = concat!(
        r#"{"type":"star","at":3}"#,
        "\n",
        r#"{"type":"message","message":{"role":"user","content":[{"type":"video"}],"time":"t"},"n":5}"#,
        "\n"
    );
    let text = fs::read_to_string(&path).unwrap() + newer;
    fs::write(&path, &text).unwrap();
    let mut opened = fixture.resume();
    let unknown = Notice::Unknown {
        path: path.clone(),
        lines: 2,
    };
    assert_eq!(*notice(&opened), unknown);
    assert_eq!(opened.transcript, turn());
    let _ = opened.session.append(&user("on")).unwrap();
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text));
}

#[test]
fn a_newer_format_version_is_rejected_and_left_unchanged() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("\"version\":1", "\"version\":2", 1);
    fs::write(&path, &text).unwrap();
    let error = fixture
        .sessions
        .continue_latest("demo", "demo")
        .unwrap_err();
    assert!(matches!(error, SessionError::Newer { version: 2, .. }));
    assert!(error.to_string().contains("hint: update zot"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fixture.sessions.list().unreadable, [path]);
}

#[test]
fn a_call_without_a_result_is_cancelled_without_changing_the_file() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn()[..2]);
    let before = fs::read(&path).unwrap();
    for _ in 0..2 {
        let opened = fixture.resume();
        assert_eq!(*notice(&opened), Notice::Cancelled { calls: 1 });
        assert_eq!(opened.transcript[..2], turn()[..2]);
        let [
            Block::ToolResult {
                is_error: true,
                content,
                ..
            },
        ] = &opened.transcript[2].content[..]
        else {
            panic!("{:?}", opened.transcript)
        };
        let Content::Text(text) = &content[0] else {
            panic!("not a text block")
        };
        assert!(text.text.starts_with("cancelled"), "{}", text.text);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    // The transcript stays valid when the session continues.
    let mut opened = fixture.resume();
    let _ = opened.session.append(&user("and now?")).unwrap();
    drop(opened);
    let roles: Vec<_> = fixture
        .resume()
        .transcript
        .iter()
        .map(|it| it.role)
        .collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User]);
}

#[test]
fn each_notice_is_one_line_that_names_the_file() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn()[..2]);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("\"title\"", "\0", 1) + "{\"type\":\"star\"}\n{\"torn";
    fs::write(&path, text).unwrap();
    let opened = fixture.resume();
    let text = notice_text(&opened).replace(path.to_str().unwrap(), "FILE");
    let expected = [
        "session `FILE` was damaged: recovered 2 messages; the original file was copied to `FILE.bad`",
        "session `FILE` has 1 line from a newer zot: kept, but ignored",
        "this session has 1 tool call without a result: marked as cancelled",
    ];
    assert_eq!(text, expected.join("\n"));
}
