//! Aborting a prompt at any point leaves a valid transcript and exactly one `done` event.

use std::{sync::Arc, time::Duration};

use zot_host::{
    Prompt,
    message::{Block, Message, Role},
};
use zot_protocol::Tagged;

use super::fixture::{AgentFixture, scripted};
use crate::support::processes_in;

/// Reports whether every tool call is followed directly by its result.
fn is_valid(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.role != Role::Tool && !open.is_empty() {
            return false;
        }
        for block in &message.content {
            match block {
                Block::ToolCall { id, .. } => open.push(id.as_str()),
                Block::ToolResult { call_id, .. } => {
                    let Some(at) = open.iter().position(|id| *id == call_id.as_str()) else {
                        return false;
                    };
                    open.remove(at);
                }
                _ => {}
            }
        }
    }
    open.is_empty()
}

#[tokio::test]
async fn an_abort_at_any_event_leaves_a_valid_transcript() {
    let turns = [
        r#"[{"text": ["a", "b", "c"]}, {"delay_ms": 2}, {"tool_calls": [{"name": "bash", "args": {"command": "sleep 0.01; echo x"}}, {"name": "say-a", "args": {}}]}]"#,
        r#"[{"text": "d"}, {"delay_ms": 2}, {"text": "e"}]"#,
    ];
    let fixture = AgentFixture::new().with("a", "tool_call", "mark");
    for at in 0..24 {
        let runtime = fixture.start(scripted(&turns.join("\n")));
        let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
        let (mut count, mut dones, mut last) = (0, 0, String::new());
        loop {
            if count == at {
                runtime.cancel();
            }
            let Some(event) = events.next().await else {
                break;
            };
            count += 1;
            event.name().clone_into(&mut last);
            dones += usize::from(last == "done");
        }
        assert_eq!((dones, last.as_str()), (1, "done"), "at {at}");
        let messages = runtime.messages().await;
        assert!(is_valid(&messages), "at {at}: {messages:#?}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn an_abort_while_streaming_keeps_the_partial_text() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(r#"[{"text": "so far"}, {"delay_ms": 60000}]"#));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut published = Vec::new();
    while let Some(event) = events.next().await {
        if event.name() == "text_delta" {
            runtime.cancel();
        }
        published.push(serde_json::to_value(&event).unwrap());
    }
    let end = published
        .iter()
        .find(|it| it["type"] == "turn_end")
        .unwrap();
    assert_eq!(end["stop"], "aborted");
    assert_eq!(runtime.messages().await.last().unwrap().text(), "so far");
    runtime.close().await;
}

#[tokio::test]
async fn an_abort_while_a_tool_runs_cancels_every_pending_call() {
    let turns = r#"{"tool_calls": [{"name": "bash", "args": {"command": "sleep 60"}}, {"name": "bash", "args": {"command": "sleep 61"}}]}"#;
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(turns));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut statuses = Vec::new();
    while let Some(event) = events.next().await {
        let event = serde_json::to_value(&event).unwrap();
        if event["type"] == "turn_end" {
            let runtime = runtime.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                runtime.cancel();
            });
        }
        if event["type"] == "tool_result" {
            statuses.push(event["status"].clone());
        }
    }
    assert_eq!(statuses, ["cancelled", "cancelled"]);
    assert!(is_valid(&runtime.messages().await));
    runtime.close().await;
}

/// Aborts while the model streams, while interceptors run, and while a command starts, runs with a
/// child outside its process group, or exits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_at_200_random_times_leaves_nothing_behind() {
    const POINTS: u64 = 200;
    let call = r#"{"name": "bash", "args": {"command": "setsid sleep 60 & sleep 0.01; echo x"}}"#;
    let turns = format!(
        r#"[{{"text": ["a", "b"]}}, {{"delay_ms": 3}}, {{"text": "c", "tool_calls": [{call}, {{"name": "say-a", "args": {{}}}}, {call}]}}]"#
    );
    let last = r#"[{"text": "d"}, {"delay_ms": 3}, {"text": "e"}]"#;
    let script = format!("{turns}\n{last}\n").repeat(usize::try_from(POINTS).unwrap());
    let fixture = AgentFixture::new().with(
        "a",
        "turn_start,tool_call,tool_result,assistant_message",
        "mark",
    );
    let runtime = fixture.start(scripted(&script));
    runtime.started().await;
    let project = fixture.folder.path().join("project");
    let mut seen_stops = std::collections::BTreeMap::new();
    // Pseudo-random delays within three spans: the start of a prompt, its first half, and slightly
    // longer than a whole prompt.
    let spans = [10_000, 40_000, 120_000];
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for (point, span) in (0..POINTS).zip(spans.into_iter().cycle()) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let after = Duration::from_micros(random % span);
        let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
        let cancelling = async {
            tokio::time::sleep(after).await;
            runtime.cancel();
            std::future::pending::<()>().await;
        };
        let mut published: Vec<serde_json::Value> = Vec::new();
        let following = async {
            while let Some(event) = events.next().await {
                published.push(serde_json::to_value(&event).unwrap());
            }
        };
        tokio::select! {
            () = cancelling => unreachable!("never completes"),
            () = following => {}
        }
        let of = |name: &str| published.iter().filter(|it| it["type"] == name).count();
        let seen = || format!("point {point}, after {after:?}: {published:#?}");
        assert_eq!(of("done"), 1, "{}", seen());
        assert_eq!(published.last().unwrap()["type"], "done", "{}", seen());
        // An abort between the tools of a turn adds a second `turn_end` after their results.
        let ends = published.iter().filter(|it| it["type"] == "turn_end");
        let stops: Vec<_> = ends.map(|end| end["stop"].as_str().unwrap()).collect();
        let added = stops.ends_with(&["tool_use", "aborted"]) && of("turn_start") < stops.len();
        assert_eq!(
            of("turn_start") + usize::from(added),
            stops.len(),
            "{}",
            seen()
        );
        assert_eq!(of("tool_call"), of("tool_result"), "{}", seen());
        let messages = runtime.messages().await;
        assert!(is_valid(&messages), "{}\n{messages:#?}", seen());
        let left = processes_in(&project);
        assert!(left.is_empty(), "{left:?} still running at {}", seen());
        *seen_stops.entry(stops.join(" ")).or_insert(0) += 1;
    }
    // The aborts must have hit more than one state.
    println!("ends: {seen_stops:?}");
    assert!(seen_stops.len() >= 3, "{seen_stops:?}");
    runtime.close().await;
}
