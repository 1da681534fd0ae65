//! Extensions in several languages, without a library: commands, tools, events, interception.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use zot_host::extension::{Launch, chain::ChainOutcome, fold::Verdict};
use zot_protocol::{
    AssistantMessageEvent, AssistantMessageIntercept, BeforeAgentStart, CompactEvent, Content,
    EndReason, Event, Intercept, InterceptName, Permissions, SessionEnd, StopReason, ToolCallEvent,
    ToolCallIntercept, ToolResultEvent, ToolResultIntercept, ToolStatus, TurnEnd, TurnStart,
    TurnStartIntercept, UserMessageEvent, UserMessageIntercept,
};
use zot_test_support::skip::find;

use crate::support::{HostFixture, args, fixture_path, python, text, within};

fn tool_call(command: &str) -> Intercept {
    let mut call = ToolCallIntercept::new("bash", args(json!({"command": command})));
    call.tool_id = Some("toolu_1".into());
    call.into()
}

fn tool_result(output: &str) -> Intercept {
    let content = vec![Content::text(output)];
    ToolResultIntercept::new("toolu_1", "bash", args(json!({"n": 1})), content, false).into()
}

fn before_agent_start(prompt: &str) -> Intercept {
    BeforeAgentStart::new(prompt, "demo", "demo").into()
}

/// Every event, in the order of one prompt.
fn events() -> Vec<Event> {
    let call = args(json!({"command": "ls"}));
    let content = vec![Content::text("README")];
    vec![
        UserMessageEvent::new("list it").into(),
        TurnStart::new(1).into(),
        AssistantMessageEvent::new("I shall look").into(),
        ToolCallEvent::new("bash", call.clone()).into(),
        TurnEnd::new(StopReason::ToolUse).into(),
        ToolResultEvent::new(
            "toolu_1",
            "bash",
            call,
            ToolStatus::Completed,
            content,
            false,
        )
        .into(),
        CompactEvent::new("it was listed").into(),
    ]
}

async fn ask(fixture: &HostFixture, event: Intercept) -> ChainOutcome {
    within("an interception", fixture.host.intercept(event)).await
}

/// Runs the script twice: without permissions in the manifest, and with the narrowest ones.
async fn supports_every_feature(launch: impl Fn(&HostFixture) -> Launch) {
    // Confined, but allowed to rewrite every event.
    let mut confined = Permissions::default();
    confined.intercept = InterceptName::KNOWN.to_vec();
    for permissions in [None, Some(confined)] {
        let fixture = HostFixture::new();
        let mut launch = launch(&fixture);
        launch.manifest.permissions = permissions;
        exercise(&fixture, launch).await;
    }
}

/// Exercises every feature, in the same way for all languages.
async fn exercise(fixture: &HostFixture, launch: Launch) {
    let name = launch.manifest.name.clone();
    let stats = within("load", fixture.host.load(vec![launch])).await;
    assert_eq!((stats.ready, stats.errors.len()), (1, 0), "{stats:?}");
    let log = fixture.log(&name);
    assert!(!log.contains("[zot]"), "unexpected complaint: {log}");

    let run_command = async |command: &str, args: &str| {
        let response = within("a command", fixture.host.command(command, args)).await;
        response.expect("answers").display.unwrap_or_default()
    };
    assert_eq!(run_command("greet", " you there ").await, "hello you there");
    assert_eq!(run_command("greet", "").await, "hello ");
    let shouted = fixture.call_with("shout", json!({"text": "ahoy"})).await;
    assert_eq!(text(&shouted.expect("answers")), "ahoy!");

    fixture.host.start_session();
    for event in events() {
        fixture.host.send_event(&event);
    }
    fixture
        .host
        .send_event(&SessionEnd::new(EndReason::Clear).into());
    assert_eq!(
        run_command("seen", "").await,
        "session_start user_message turn_start assistant_message tool_call turn_end tool_result compact session_end"
    );

    intercepts(fixture, &name).await;
    let seen = run_command("seen", "").await;
    let asked: Vec<&str> = seen.split(' ').skip(9).collect();
    let expected = [
        "tool_call",
        "assistant_message",
        "user_message",
        "tool_result",
        "before_agent_start",
    ]
    .iter()
    .flat_map(|event| {
        [
            format!("?{event}"),
            format!("?{event}"),
            format!("?{event}"),
        ]
    })
    .chain(["?turn_start".to_owned(), "?turn_start".to_owned()])
    .collect::<Vec<_>>();
    assert_eq!(asked, expected);

    within("shutdown", fixture.host.shutdown()).await;
    assert!(fixture.notes.all().is_empty(), "{:?}", fixture.notes.all());
}

/// Asks the extension about each event three times, so that it allows, rewrites and blocks it.
async fn intercepts(fixture: &HostFixture, name: &str) {
    let kinds: [fn(&str) -> Intercept; 5] = [
        tool_call,
        |text| AssistantMessageIntercept::new(text).into(),
        |text| UserMessageIntercept::new(text).into(),
        tool_result,
        before_agent_start,
    ];
    for of in kinds {
        let allowed = ask(fixture, of("leave me")).await;
        assert_eq!(allowed.result, Ok(of("leave me")));
        assert_eq!(allowed.records[0].verdict, Verdict::Allowed);

        let rewritten = ask(fixture, of("rewrite me")).await;
        assert_eq!(rewritten.result, Ok(of("rewritten")));
        assert_eq!(rewritten.records[0].verdict, Verdict::Rewritten);

        let refused = ask(fixture, of("block me")).await;
        match refused.result {
            // before_agent_start cannot be blocked.
            Ok(event) => assert_eq!(event, before_agent_start("block me")),
            Err(block) => {
                assert_eq!(block.by, name);
                assert!(block.reason.starts_with("no "), "{}", block.reason);
            }
        }
    }
    // turn_start cannot be rewritten.
    let step = |step| TurnStartIntercept::new(step).into();
    assert_eq!(ask(fixture, step(1)).await.result, Ok(step(1)));
    let block = ask(fixture, step(13)).await.result.expect_err("blocked");
    assert_eq!(
        (block.by.as_str(), block.reason.as_str()),
        (name, "no turn_start")
    );
}

/// Launches the script from its own directory, like an installed extension.
fn script(fixture: &HostFixture, name: &str, program: &Path, file: &str) -> Launch {
    let folder = fixture_path("languages");
    let script = folder.join(file).display().to_string();
    let mut launch = fixture.launch(name, program, vec![script]);
    launch.dir = folder;
    launch
}

#[tokio::test]
async fn python_supports_every_feature() {
    supports_every_feature(|fixture| script(fixture, "all-py", python(), "all.py")).await;
}

#[tokio::test]
async fn node_supports_every_feature() {
    let Some(node) = find("node") else {
        return;
    };
    supports_every_feature(|fixture| script(fixture, "all-js", &node, "all.js")).await;
}

#[tokio::test]
async fn bash_supports_every_feature() {
    let Some(bash) = find("bash") else {
        return;
    };
    supports_every_feature(|fixture| script(fixture, "all-sh", &bash, "all.sh")).await;
}

#[tokio::test]
async fn rust_supports_every_feature() {
    let Some(rustc) = find("rustc") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("all-rs");
    build(&rustc, &fixture_path("languages").join("all.rs"), &program);
    supports_every_feature(|fixture| {
        let mut launch = fixture.launch("all-rs", &program, vec![]);
        launch.dir = folder.path().to_owned();
        launch
    })
    .await;
}

fn build(rustc: &Path, source: &Path, program: &Path) {
    let built = Command::new(rustc)
        .args(["--edition=2024", "-o"])
        .args([program, source])
        .stdin(Stdio::null())
        .output()
        .expect("rustc");
    let stderr = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{stderr}");
}
