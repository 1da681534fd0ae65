//! Commands that run in the background.

use std::{fs, time::Duration};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{ToolFixture, has};
use crate::support::{args, processes_in, within};

impl ToolFixture {
    /// Starts a command and returns its id.
    async fn start(&self, command: &str) -> String {
        let with = json!({"command": command, "run_in_background": true});
        let text = self.ok("bash", with).await;
        let rest = text.strip_prefix("started in the background as ");
        let (id, file) = rest
            .and_then(|rest| rest.split_once("; its output goes to "))
            .unwrap();
        assert!(fs::exists(file).unwrap(), "{file}");
        id.to_owned()
    }

    /// Waits until a command has ended, and returns its new output.
    async fn ended(&self, id: &str) -> String {
        self.ok("background", json!({"id": id, "wait": 60})).await
    }
}

#[tokio::test]
async fn a_command_survives_its_call_and_its_output_can_be_read_in_pieces() {
    let fixture = ToolFixture::new();
    let id = fixture
        .start("echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3")
        .await;
    assert_eq!(id, "bg-1");
    let mut text = String::new();
    while !text.contains("one") {
        text = fixture.ok("background", json!({"id": id})).await;
    }
    has(&text, "[bg-1 has been running for ");
    fixture.put("go", "");
    let text = fixture.ended(&id).await;
    assert!(text.starts_with("two\n[bg-1 ended after "), "{text}");
    has(&text, "exit status 3");
    has(&fixture.ended(&id).await, "no new output");
    has(
        &fixture.ok("background", json!({})).await,
        "bg-1: ended after",
    );
    let file = &fixture.toolbox.background()[0].output;
    assert_eq!(fs::read_to_string(file).unwrap(), "one\ntwo\n");
    let text = fixture.err("background", json!({"id": "bg-7"})).await;
    has(&text, "no background command `bg-7`\nbg-1: ended");
}

#[tokio::test]
async fn killing_a_command_kills_its_process_tree() {
    let fixture = ToolFixture::new();
    let id = fixture.start("setsid sleep 600 & sleep 600").await;
    let text = fixture
        .ok("background", json!({"id": id, "action": "kill"}))
        .await;
    has(&text, "bg-1 killed");
    fixture.check_nothing_left();
    let text = fixture
        .ok("background", json!({"id": id, "action": "kill"}))
        .await;
    has(&text, "bg-1 had already ended");
    assert!(!fixture.toolbox.kill_background(&id).await);
}

#[tokio::test]
async fn cancelling_the_wait_leaves_the_command_running() {
    let fixture = ToolFixture::new();
    let id = fixture.start("sleep 600").await;
    let cancel = CancellationToken::new();
    let with = args(json!({"id": id, "wait": 600}));
    let waiting = fixture.toolbox.run("background", with, |_| {}, &cancel);
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let (outcome, ()) = within("the wait", async { tokio::join!(waiting, cancelling) }).await;
    assert!(outcome.unwrap().is_error);
    assert_eq!(fixture.toolbox.background()[0].ended, None);
}

#[tokio::test]
async fn closing_or_dropping_the_toolbox_kills_every_command() {
    let fixture = ToolFixture::new();
    for _ in 0..3 {
        fixture.start("trap '' TERM; sleep 600").await;
    }
    within("the end", fixture.toolbox.close()).await;
    fixture.check_nothing_left();
    let with = json!({"command": "sleep 600", "run_in_background": true});
    assert_eq!(fixture.err("bash", with).await, "zot is exiting");

    let ToolFixture { folder, toolbox } = ToolFixture::new();
    let with = json!({"command": "sleep 600", "run_in_background": "true"});
    toolbox
        .run("bash", args(with), |_| {}, &CancellationToken::new())
        .await;
    drop(toolbox);
    within("the end of the command", async {
        while !processes_in(folder.path()).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_number_of_commands_and_their_output_are_limited() {
    let fixture = ToolFixture::new();
    for _ in 0..16 {
        fixture.start("sleep 600").await;
    }
    let with = json!({"command": "touch ran; sleep 600", "run_in_background": true});
    let text = fixture.err("bash", with).await;
    assert!(
        !fixture.at("ran").exists(),
        "a refused command does not start"
    );
    has(&text, "16 commands are already running in the background");
    assert!(fixture.toolbox.kill_background("bg-3").await);
    let id = fixture.start("yes | head -c 1000000").await;
    let text = fixture.ended(&id).await;
    assert!(text.len() < 32 << 10, "{}", text.len());
    has(&text, "[… 969,280 bytes omitted …]");
    let id = fixture.start("yes | head -c 9000000; echo the end").await;
    let text = fixture.ended(&id).await;
    has(&text, "only the first 8 MiB of output are kept, in ");
    fixture.toolbox.close().await;
}

#[tokio::test]
async fn another_session_does_not_see_the_commands() {
    let fixture = ToolFixture::new();
    let id = fixture.start("echo private; sleep 600").await;
    fixture
        .toolbox
        .set_scratch(fixture.outside("another"))
        .unwrap();
    let text = fixture.err("background", json!({"id": id})).await;
    assert_eq!(text, "no background command `bg-1`\nno background commands");
    assert_eq!(
        fixture.ok("background", json!({})).await,
        "no background commands"
    );
    // The user sees the commands of all sessions.
    assert_eq!(fixture.toolbox.background().len(), 1);
    fixture.toolbox.close().await;
}

#[tokio::test]
async fn characters_are_not_split_between_two_calls() {
    let fixture = ToolFixture::new();
    let id = fixture
        .start(r"printf 'a\303'; until [ -e go ]; do sleep 0.01; done; printf '\244b'")
        .await;
    let mut text = String::new();
    while !text.starts_with("a\n[") {
        text = fixture.ok("background", json!({"id": id})).await;
        assert!(
            text.starts_with("a\n[") || text.contains("no new output"),
            "{text}"
        );
    }
    fixture.put("go", "");
    let text = fixture.ended(&id).await;
    assert!(text.starts_with("äb\n["), "{text}");
}

#[tokio::test]
async fn the_jail_applies_for_as_long_as_the_command_runs() {
    let fixture = ToolFixture::jailed();
    let outside = fixture.outside("x").display().to_string();
    let id = fixture
        .start(&format!(
            "echo no > {outside}; echo $? > \"$TMPDIR/status\"; cat \"$TMPDIR/status\""
        ))
        .await;
    let text = fixture.ended(&id).await;
    has(&text, "Permission denied");
    assert!(!fs::exists(&outside).unwrap());
}
