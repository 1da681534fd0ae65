//! Sessions in real files: crashes, torn writes, concurrent access, full disks, listing, forks.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use zot_host::{
    home::Home,
    message::{Block, Message, Role},
    session::{Notice, Opened, Sessions, Written},
};
use zot_protocol::{Content, ToolId};

use crate::support::args;

mod arbitrary_content;
mod basics;
mod concurrency;
mod disk_errors;
mod forks;
mod listing;
mod repair;
mod sigkill;
mod speed;

/// Environment variable that holds the directory for a helper process.
const DIR: &str = "ZOT_HOST_TEST_DIR";
const TIME: &str = "2026-04-19T11:30:00.000Z";

/// A home and a project next to it.
struct SessionFixture {
    dir: TempDir,
    sessions: Sessions,
}

impl SessionFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let sessions = sessions_in(dir.path());
        Self { dir, sessions }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn create(&self) -> Opened {
        without_notices(self.sessions.create("demo", "first"))
    }

    fn resume(&self) -> Opened {
        self.sessions.continue_latest("demo", "later").unwrap()
    }

    /// Writes and closes a session with these messages. Returns its path.
    fn write_session(&self, messages: &[Message]) -> PathBuf {
        let mut opened = self.create();
        for message in messages {
            assert_eq!(opened.session.append(message).unwrap(), Written::Yes);
        }
        opened.session.path().unwrap().to_owned()
    }

    /// The files next to the sessions, such as backups.
    fn backup_files(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.sessions.dir()) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        let backup_files = paths.filter(|path| path.extension().unwrap() != "jsonl");
        let mut names: Vec<_> = backup_files
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        names
    }
}

/// The directory passed to this helper process.
fn helper_dir() -> PathBuf {
    PathBuf::from(std::env::var_os(DIR).unwrap())
}

fn sessions_in(dir: &Path) -> Sessions {
    Sessions::of(&Home::at(dir.join("home")), &dir.join("project"))
}

/// Checks that opening the session produced no notice.
fn without_notices(opened: Opened) -> Opened {
    assert!(opened.notices.is_empty(), "{:?}", opened.notices);
    opened
}

/// Returns the only notice of an opened session. Panics if there are others.
fn notice(opened: &Opened) -> &Notice {
    let [notice] = &opened.notices[..] else {
        panic!("expected one notice: {:?}", opened.notices)
    };
    assert!(
        !notice.to_string().contains('\n'),
        "more than one line: {notice}"
    );
    notice
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message {
        role,
        content,
        time: TIME.to_owned(),
    }
}

fn text_message(role: Role, text: &str) -> Message {
    let text = text.to_owned();
    message(role, vec![Block::Text { text }])
}

fn user(text: &str) -> Message {
    text_message(Role::User, text)
}

fn assistant(text: &str) -> Message {
    text_message(Role::Assistant, text)
}

fn calls(id: &str) -> Message {
    message(
        Role::Assistant,
        vec![
            Block::Thinking {
                text: "hm".to_owned(),
                signature: Some("seal".to_owned()),
            },
            Block::ToolCall {
                id: ToolId::from(id),
                name: "read".to_owned(),
                args: args(json!({"path": "a\nb", "z": 1.5, "a": null})),
            },
        ],
    )
}

fn result(id: &str) -> Message {
    message(
        Role::Tool,
        vec![Block::ToolResult {
            call_id: ToolId::from(id),
            is_error: false,
            content: vec![
                Content::text("line\u{2028}\0\""),
                Content::image("image/png", "aGk="),
            ],
        }],
    )
}

/// A turn with every kind of message.
fn turn() -> Vec<Message> {
    vec![
        user("look at it"),
        calls("c1"),
        result("c1"),
        assistant("it is fine"),
    ]
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "incomplete last line");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn types(path: &Path) -> String {
    let lines = lines(path);
    let types: Vec<_> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    types.join(" ")
}
