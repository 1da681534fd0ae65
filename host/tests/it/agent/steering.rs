//! Messages sent while a prompt is running.

use std::fs;

use zot_host::{Prompt, Runtime, SteerError, message::Role};
use zot_protocol::{StopReason, rpc::Event};

use super::fixture::{AgentFixture, PromptEvents, scripted};
use crate::support::within;

/// A model that runs a command, which waits for the file `go`, and then answers.
const WAITS: &str = concat!(
    r#"{"tool_call": {"name": "bash", "args": {"command": "touch began; until [ -e go ]; do sleep 0.01; done"}}}"#,
    "\n",
    r#"{"text": "first"}"#,
    "\n",
    r#"{"text": "second"}"#,
);

/// Runs a prompt, and calls `meanwhile` with each event until it returns true.
async fn run(runtime: &Runtime, mut meanwhile: impl FnMut(&Event) -> bool) -> PromptEvents {
    let mut events = runtime.prompt(Prompt::text("begin")).unwrap();
    let mut published = Vec::new();
    let mut is_done = false;
    let running = async {
        while let Some(event) = events.next().await {
            is_done = is_done || meanwhile(&event);
            published.push(event);
        }
    };
    within("the prompt", running).await;
    PromptEvents(published)
}

async fn conversation(runtime: &Runtime) -> Vec<(Role, String)> {
    let messages = runtime.messages().await;
    messages.iter().map(|it| (it.role, it.text())).collect()
}

fn ended_turn(event: &Event) -> bool {
    matches!(event, Event::TurnEnd(_))
}

#[tokio::test]
async fn a_message_is_delivered_between_tool_rounds() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(WAITS));
    let project = fixture.folder.path().join("project");
    let published = run(&runtime, |event| {
        let is_time = ended_turn(event);
        if is_time {
            runtime.steer(Prompt::text("by the way")).unwrap();
            fs::write(project.join("go"), "").unwrap();
        }
        is_time
    })
    .await;
    assert_eq!(
        conversation(&runtime).await,
        [
            (Role::User, "begin".to_owned()),
            (Role::Assistant, String::new()),
            (Role::Tool, String::new()),
            (Role::User, "by the way".to_owned()),
            (Role::Assistant, "first".to_owned()),
        ]
    );
    let types = published.types();
    let result = types.iter().position(|it| *it == "tool_result").unwrap();
    assert_eq!(
        types[result + 1..result + 3],
        ["user_message", "turn_start"]
    );
    assert_eq!(types.iter().filter(|it| **it == "done").count(), 1);
    runtime.close().await;
}

#[tokio::test]
async fn a_message_during_the_last_answer_continues_the_prompt() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(
        "[{\"text\": \"first\"}, {\"delay_ms\": 2000}]\n{\"text\": \"second\"}",
    ));
    let published = run(&runtime, |event| {
        let is_time = matches!(event, Event::TextDelta(_));
        if is_time {
            runtime.steer(Prompt::text("and")).unwrap();
            runtime.steer(Prompt::text("more")).unwrap();
        }
        is_time
    })
    .await;
    let texts: Vec<String> = conversation(&runtime)
        .await
        .into_iter()
        .map(|it| it.1)
        .collect();
    assert_eq!(texts, ["begin", "first", "and", "more", "second"]);
    assert_eq!(published.types().last(), Some(&"done"));
    assert_eq!(
        runtime.steer(Prompt::text("late")),
        Err(SteerError::Idle),
        "no prompt is running"
    );
    runtime.close().await;
}

#[tokio::test]
async fn an_abort_drops_the_message() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(WAITS));
    let published = run(&runtime, |event| {
        let is_time = ended_turn(event);
        if is_time {
            runtime.steer(Prompt::text("dropped")).unwrap();
            runtime.cancel();
        }
        is_time
    })
    .await;
    assert!(!published.all().contains("dropped"));
    let aborted = published.0.iter().any(|event| match event {
        Event::TurnEnd(end) => end.stop == StopReason::Aborted,
        _ => false,
    });
    assert!(aborted);
    let next = PromptEvents::of(&runtime, "next").await;
    assert!(!next.all().contains("dropped"));
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_message_is_not_delivered_and_the_prompt_goes_on() {
    // The interceptor blocks only the message `no`, so the prompt itself is not blocked.
    let mut fixture = AgentFixture::new();
    let script = r#"
import json, sys
def emit(**frame):
    print(json.dumps(frame), flush=True)
emit(type="hello", name="picky", capabilities=["events"])
emit(type="subscribe", intercept=["user_message"])
emit(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        emit(type="event_intercept_response", id=frame["id"], block=frame["text"] == "no", reason="not that")
    elif frame["type"] == "shutdown":
        break
"#;
    let manifest = serde_json::json!({"name": "picky", "exec": "python3", "args": ["-c", script]});
    fixture.add("picky", &manifest);
    let runtime = fixture.start(scripted(
        "[{\"text\": \"first\"}, {\"delay_ms\": 2000}]\n{\"text\": \"second\"}",
    ));
    let published = run(&runtime, |event| {
        let is_time = matches!(event, Event::TextDelta(_));
        if is_time {
            runtime.steer(Prompt::text("no")).unwrap();
        }
        is_time
    })
    .await;
    assert_eq!(
        published.text(),
        "first",
        "nothing was delivered, so the model is not called"
    );
    assert!(!published.types().contains(&"error"));
    let blocked = published.0.iter().filter_map(|event| match event {
        Event::SteerBlocked(blocked) => Some(blocked.reason.as_str()),
        _ => None,
    });
    assert_eq!(blocked.collect::<Vec<_>>(), ["not that"]);
    runtime.close().await;
}

#[tokio::test]
async fn the_number_of_waiting_messages_is_limited() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(WAITS));
    run(&runtime, |event| {
        let is_time = ended_turn(event);
        if is_time {
            let results: Vec<_> = (0..20).map(|_| runtime.steer(Prompt::text("x"))).collect();
            assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 16);
            assert_eq!(results[16], Err(SteerError::Full));
            runtime.cancel();
        }
        is_time
    })
    .await;
    runtime.close().await;
}

#[tokio::test]
async fn a_message_is_accepted_as_soon_as_the_prompt_is() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(WAITS));
    fs::write(fixture.folder.path().join("project/go"), "").unwrap();
    assert_eq!(runtime.steer(Prompt::text("early")), Err(SteerError::Idle));
    let mut events = runtime.prompt(Prompt::text("begin")).unwrap();
    // The extensions are still starting.
    runtime.steer(Prompt::text("by the way")).unwrap();
    while within("the prompt", events.next()).await.is_some() {}
    let texts: Vec<String> = conversation(&runtime)
        .await
        .into_iter()
        .map(|it| it.1)
        .collect();
    assert!(texts.contains(&"by the way".to_owned()), "{texts:?}");
    assert_eq!(runtime.steer(Prompt::text("late")), Err(SteerError::Idle));
    runtime.close().await;
}
