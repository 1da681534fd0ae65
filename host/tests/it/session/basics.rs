//! Sessions in normal use.

use std::{
    os::unix::fs::PermissionsExt,
    time::{Duration, SystemTime},
};

use zot_host::session::Choice;

use super::*;

#[test]
fn a_resumed_session_has_all_messages() {
    let fixture = SessionFixture::new();
    fixture.write_session(&turn());
    let opened = without_notices(fixture.resume());
    assert_eq!(opened.transcript, turn());
    assert_eq!(opened.earlier, []);
    assert_eq!(
        (opened.provider.as_str(), opened.model.as_str()),
        ("demo", "first")
    );
    assert_eq!(opened.session.messages(), 4);
    assert_eq!(opened.session.title(), Some("look at it"));
}

#[test]
fn the_file_format_is_as_documented() {
    let fixture = SessionFixture::new();
    let mut opened = fixture.create();
    let session = &mut opened.session;
    let _ = session.append(&user("\n  look\tat it \nnow")).unwrap();
    let _ = session.set_model("openai", "gpt").unwrap();
    let _ = session.compact(&user("it was looked at")).unwrap();
    let path = session.path().unwrap();
    let lines = lines(path);
    let head = &lines[0];
    assert_eq!(head["type"], "session");
    assert_eq!(head["version"], 1);
    assert_eq!(head["id"], session.id());
    assert_eq!(head["provider"], "demo");
    assert_eq!(head["model"], "first");
    assert!(head.get("parent").is_none());
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(
        name.ends_with(&format!("-{}.jsonl", session.id())),
        "{name}"
    );
    let project = fs::canonicalize(fixture.path("project")).unwrap();
    assert_eq!(head["cwd"], project.to_str().unwrap());
    assert_eq!(
        lines[1],
        json!({"type": "title", "title": "look at it", "n": 0})
    );
    assert_eq!(
        lines[2],
        json!({"type": "message", "message": user("\n  look\tat it \nnow"), "n": 1})
    );
    assert_eq!(lines[3]["type"], "model");
    assert_eq!(lines[3]["provider"], "openai");
    assert_eq!(
        lines[4],
        json!({"type": "compaction", "message": user("it was looked at"), "n": 1})
    );
}

#[test]
fn a_compaction_restarts_the_transcript_and_keeps_earlier_messages() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let mut opened = without_notices(fixture.resume());
    let _ = opened.session.compact(&user("summary")).unwrap();
    let _ = opened.session.append(&assistant("on")).unwrap();
    let _ = opened.session.set_model("openai", "gpt").unwrap();
    drop(opened);
    let opened = without_notices(fixture.resume());
    assert_eq!(opened.transcript, [user("summary"), assistant("on")]);
    assert_eq!(opened.earlier, turn());
    assert_eq!(
        (opened.provider.as_str(), opened.model.as_str()),
        ("openai", "gpt")
    );
    assert_eq!(opened.session.messages(), 5);
    assert_eq!(
        types(&path),
        "session title message message message message compaction message model"
    );
}

#[test]
fn a_session_file_is_created_with_the_first_message() {
    let fixture = SessionFixture::new();
    let mut opened = fixture.create();
    let _ = opened.session.set_model("openai", "gpt").unwrap();
    let _ = opened.session.sync().unwrap();
    assert!(!opened.session.path().unwrap().exists());
    let _ = opened.session.append(&user("hello")).unwrap();
    assert_eq!(lines(opened.session.path().unwrap())[0]["model"], "gpt");
}

#[test]
fn session_files_are_private() {
    let fixture = SessionFixture::new();
    let path = fixture.write_session(&turn());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(fixture.sessions.dir()), 0o700);
    assert_eq!(mode(&fixture.path("home/sessions")), 0o700);
    assert_eq!(mode(&fixture.path("home")), 0o700);
}

#[test]
fn each_directory_has_its_own_sessions() {
    let fixture = SessionFixture::new();
    fixture.write_session(&turn());
    let other = Sessions::of(&Home::at(fixture.path("home")), fixture.dir.path());
    assert_ne!(other.dir(), fixture.sessions.dir());
    let opened = other.continue_latest("demo", "demo").unwrap();
    assert_eq!(*notice(&opened), Notice::NoneYet);
    assert_eq!(opened.transcript, []);
    // A symlink to the directory leads to the same sessions.
    std::os::unix::fs::symlink(fixture.path("project"), fixture.path("link")).unwrap();
    let link = Sessions::of(&Home::at(fixture.path("home")), &fixture.path("link"));
    assert_eq!(link.dir(), fixture.sessions.dir());
}

#[test]
fn continue_opens_the_most_recently_written_session() {
    let fixture = SessionFixture::new();
    let first = fixture.write_session(&[user("first")]);
    let second = fixture.write_session(&[user("second")]);
    assert_eq!(fixture.resume().transcript, [user("second")]);
    // Make the second session older, because timestamps have a resolution of only a few
    // milliseconds.
    let file = fs::File::options().append(true).open(second).unwrap();
    let earlier = SystemTime::now() - Duration::from_secs(1);
    file.set_modified(earlier).unwrap();
    let mut opened = fixture.sessions.open(&first, "demo", "demo").unwrap();
    let _ = opened.session.append(&assistant("again")).unwrap();
    drop(opened);
    assert_eq!(fixture.resume().session.path(), Some(first.as_path()));
}

#[test]
fn an_explicit_session_file_is_created_immediately_and_reopened() {
    let fixture = SessionFixture::new();
    let path = fixture.path("mine.jsonl");
    let choice = Choice::File(path.clone());
    let begin = || fixture.sessions.begin(&choice, "demo", "demo").unwrap();
    let mut opened = without_notices(begin());
    assert_eq!(types(&path), "session");
    let _ = opened.session.append(&user("hello")).unwrap();
    drop(opened);
    assert_eq!(without_notices(begin()).transcript, [user("hello")]);
    assert!(fixture.sessions.list().sessions.is_empty());
}

#[test]
fn without_a_session_nothing_is_written() {
    let fixture = SessionFixture::new();
    let mut opened = without_notices(
        fixture
            .sessions
            .begin(&Choice::Off, "demo", "demo")
            .unwrap(),
    );
    assert!(opened.session.is_off());
    assert_eq!(opened.session.append(&user("x")).unwrap(), Written::Off);
    assert_eq!(opened.session.sync().unwrap(), Written::Off);
    assert!(!fixture.path("home").exists());
}

#[test]
fn a_home_that_cannot_be_created_disables_sessions_with_a_notice() {
    for home in ["/proc/none/zot", "/dev/null/zot"] {
        let sessions = Sessions::of(&Home::at(home), Path::new("/"));
        for choice in [Choice::New, Choice::Continue] {
            let opened = sessions.begin(&choice, "demo", "demo").unwrap();
            assert!(opened.session.is_off());
            let message = opened.notices[0].to_string();
            assert!(
                message.starts_with(&format!(
                    "this session will not be saved: cannot write `{home}"
                )),
                "{message}"
            );
        }
    }
}

#[test]
fn deeply_nested_arguments_are_stored_as_text() {
    let fixture = SessionFixture::new();
    for depth in [10, 99, 101, 120, 126] {
        let mut value = json!(1);
        for _ in 0..depth {
            value = json!([value]);
        }
        let call = |args| {
            let (id, name) = (ToolId::from("c"), "read".to_owned());
            message(Role::Assistant, vec![Block::ToolCall { id, name, args }])
        };
        let deep = args(json!({ "x": value }));
        fixture.write_session(&[user("x"), call(deep.clone()), result("c")]);
        let opened = without_notices(fixture.resume());
        let text = Value::Object(deep.clone()).to_string();
        let kept = if depth <= 100 {
            deep
        } else {
            args(json!({"json": text}))
        };
        assert_eq!(opened.transcript[1], call(kept), "{depth}");
    }
}
