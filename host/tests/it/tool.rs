//! The built-in tools, with real files and processes.

mod background;
mod bash;
mod cancel;
mod context;
mod edit;
mod jail;
mod large;
mod preview;
mod race;
mod read;
mod search;
mod skill;
mod write;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zot_host::{
    ToolOutcome,
    tool::{NAMES, REPLACEABLE, Toolbox, ToolboxConfig},
};
use zot_process::Spawner;
use zot_protocol::{Content, ToolStatus};

use crate::support::{args, processes_in, within};

/// A toolbox with a project, a scratch folder and a parent directory outside both.
struct ToolFixture {
    folder: TempDir,
    toolbox: Toolbox,
}

impl ToolFixture {
    fn new() -> Self {
        Self::set_up(|_| {})
    }

    fn jailed() -> Self {
        Self::set_up(|config| config.jail = true)
    }

    fn set_up(change: impl FnOnce(&mut ToolboxConfig)) -> Self {
        Self::set_up_in(tempfile::tempdir().unwrap(), change)
    }

    fn set_up_in(folder: TempDir, change: impl FnOnce(&mut ToolboxConfig)) -> Self {
        let project = folder.path().join("work");
        fs::create_dir(&project).unwrap();
        let spawner = Spawner::new().unwrap();
        let mut config = ToolboxConfig::new(project, folder.path().join("scratch"), spawner);
        change(&mut config);
        Self {
            toolbox: Toolbox::new(config).unwrap(),
            folder,
        }
    }

    /// A path in the project.
    fn at(&self, path: &str) -> PathBuf {
        self.toolbox.cwd().join(path)
    }

    /// A path outside the project.
    fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        if let Some(folder) = self.at(path).parent() {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(self.at(path), content).unwrap();
    }

    fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    async fn run(&self, tool: &str, with: Value) -> ToolOutcome {
        let cancel = CancellationToken::new();
        let running = self.toolbox.run(tool, args(with), |_| {}, &cancel);
        let outcome = within(tool, running).await.expect("a built-in tool");
        assert_eq!(outcome.is_error, outcome.status != ToolStatus::Completed);
        outcome
    }

    /// Returns the output of a call that must succeed.
    async fn ok(&self, tool: &str, with: Value) -> String {
        let outcome = self.run(tool, with).await;
        assert!(!outcome.is_error, "{}", text_of(&outcome));
        text_of(&outcome)
    }

    /// Returns the output of a call that must fail.
    async fn err(&self, tool: &str, with: Value) -> String {
        let outcome = self.run(tool, with).await;
        assert_eq!(outcome.status, ToolStatus::Failed, "{}", text_of(&outcome));
        text_of(&outcome)
    }

    async fn read(&self, path: &str) -> String {
        self.ok("read", json!({"path": path})).await
    }

    async fn bash(&self, command: &str) -> String {
        self.ok("bash", json!({"command": command})).await
    }

    /// Checks that no process and no temporary file is left.
    fn check_nothing_left(&self) {
        assert_eq!(processes_in(self.folder.path()), Vec::<String>::new());
        check_no_temporary_files(self.folder.path());
    }
}

fn text_of(outcome: &ToolOutcome) -> String {
    let texts = outcome.content.iter().map(|content| match content {
        Content::Text(text) => text.text.clone(),
        Content::Image(image) => format!("<{} {}>", image.mime_type, image.data),
        other => panic!("{other:?}"),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn check_no_temporary_files(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(
            !name.starts_with(".zot-"),
            "left behind: {}",
            path.display()
        );
        if path.is_dir() && !path.is_symlink() {
            check_no_temporary_files(&path);
        }
    }
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in {text:?}");
}

#[tokio::test]
async fn an_unknown_tool_returns_none() {
    let fixture = ToolFixture::new();
    let cancel = CancellationToken::new();
    let outcome = fixture
        .toolbox
        .run("weather", args(json!({})), |_| {}, &cancel);
    assert!(outcome.await.is_none());
}

#[tokio::test]
async fn every_tool_has_a_description_and_a_valid_schema() {
    let fixture = ToolFixture::new();
    let specs = fixture.toolbox.specs();
    let names: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let expected = NAMES.into_iter().chain(REPLACEABLE).collect();
    assert_eq!(names, expected);
    for spec in &specs {
        assert!(spec.description.len() > 60, "{}", spec.name);
        let schema = zot_protocol::validate::ToolSchema::compile(&spec.schema);
        schema.unwrap();
    }
}

#[tokio::test]
async fn invalid_arguments_are_listed_in_the_error() {
    let fixture = ToolFixture::new();
    for (tool, with, parts) in [
        ("read", json!({}), ["`read`", "missing field `path`"]),
        (
            "read",
            json!({"path": 1}),
            ["at `path`", "expected a string"],
        ),
        (
            "read",
            json!({"path": "x", "offset": -1}),
            ["at `offset`", "expected a whole number"],
        ),
        (
            "write",
            json!({"path": "x"}),
            ["`write`", "missing field `content`"],
        ),
        (
            "edit",
            json!({"path": "x", "edits": [{"old_text": "a", "new_text": "b"}, {"old_text": 1, "new_text": ""}]}),
            ["at `edits[1].old_text`", "expected a string"],
        ),
        (
            "bash",
            json!({"command": ["ls"]}),
            ["at `command`", "expected a string"],
        ),
        (
            "bash",
            json!({"command": "ls", "timeout": 0}),
            ["`timeout`", "from 1 to 600"],
        ),
        (
            "bash",
            json!({"command": "ls", "timeout": 601}),
            ["`timeout`", "from 1 to 600"],
        ),
        ("skill", json!({}), ["`skill`", "missing field `name`"]),
    ] {
        let text = fixture.err(tool, with).await;
        for part in parts {
            has(&text, part);
        }
    }
}

#[tokio::test]
async fn arguments_with_a_clear_meaning_are_accepted() {
    let fixture = ToolFixture::new();
    fixture.put("x", "a\nb\nc\n");
    let with = json!({"path": "x", "offset": "2", "limit": 1.0, "encoding": "utf-8"});
    let text = fixture.ok("read", with).await;
    has(&text, "     2\tb\n");
    has(&text, "(ignored unknown argument `encoding`)");
    let edits = json!([{"old_text": "a\nb\n", "new_text": "", "replace_all": "true"}]);
    fixture
        .ok("edit", json!({"path": "x", "edits": edits}))
        .await;
    assert_eq!(fixture.get("x"), b"c\n");
}

#[tokio::test]
async fn a_call_cancelled_before_it_starts_does_nothing() {
    let fixture = ToolFixture::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let with = json!({"path": "x", "content": "x"});
    let outcome = fixture
        .toolbox
        .run("write", args(with), |_| {}, &cancel)
        .await;
    assert_eq!(outcome.expect("built in").status, ToolStatus::Cancelled);
    assert!(!fixture.at("x").exists());
}

#[tokio::test]
async fn a_panicking_progress_callback_is_an_error_result() {
    let fixture = ToolFixture::new();
    let cancel = CancellationToken::new();
    let with = args(json!({"command": "echo hi; sleep 600"}));
    let running = fixture
        .toolbox
        .run("bash", with, |_| panic!("bad callback"), &cancel);
    let outcome = within("bash", running).await.expect("built in");
    has(&text_of(&outcome), "bad callback");
    crate::support::until("the command has exited", || {
        processes_in(fixture.folder.path()).is_empty()
    })
    .await;
}
