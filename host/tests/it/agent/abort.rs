//! Aborted at any point: one `done`, a valid transcript.

use std::time::Duration;

use zot_host::{
    Prompt,
    message::{Block, Message},
};
use zot_protocol::Tagged;

use super::stage::{Stage, played};

/// Every call has its result, right after the message that makes it.
fn is_valid(messages: &[Message]) -> bool {
    let ids = |message: &Message| -> Vec<String> {
        let id = |block: &Block| match block {
            Block::ToolCall { id, .. } => Some(id.as_str().to_owned()),
            _ => None,
        };
        message.content.iter().filter_map(id).collect()
    };
    messages.iter().enumerate().all(|(at, message)| {
        let calls = ids(message);
        calls.is_empty()
            || messages.get(at + 1).is_some_and(|next| {
                let answers = |block: &Block| match block {
                    Block::ToolResult { call_id, .. } => Some(call_id.as_str().to_owned()),
                    _ => None,
                };
                next.content.iter().filter_map(answers).collect::<Vec<_>>() == calls
            })
    })
}

#[tokio::test]
async fn aborted_at_any_event() {
    let turns = [
        r#"[{"text": ["a", "b", "c"]}, {"delay_ms": 2}, {"tool_calls": [{"name": "bash", "args": {"command": "sleep 0.01; echo x"}}, {"name": "say-a", "args": {}}]}]"#,
        r#"[{"text": "d"}, {"delay_ms": 2}, {"text": "e"}]"#,
    ];
    let stage = Stage::new().with("a", "tool_call", "mark");
    for at in 0..24 {
        let runtime = stage.start(played(&turns.join("\n")));
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
async fn while_streaming_the_text_so_far_is_kept() {
    let stage = Stage::new();
    let runtime = stage.start(played(r#"[{"text": "so far"}, {"delay_ms": 60000}]"#));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        if event.name() == "text_delta" {
            runtime.cancel();
        }
        told.push(serde_json::to_value(&event).expect("JSON"));
    }
    let end = told
        .iter()
        .find(|it| it["type"] == "turn_end")
        .expect("an end");
    assert_eq!(end["stop"], "aborted");
    assert_eq!(
        runtime.messages().await.last().expect("one").text(),
        "so far"
    );
    runtime.close().await;
}

#[tokio::test]
async fn while_a_tool_runs_each_open_call_is_cancelled() {
    let turns = r#"{"tool_calls": [{"name": "bash", "args": {"command": "sleep 60"}}, {"name": "bash", "args": {"command": "sleep 61"}}]}"#;
    let stage = Stage::new();
    let runtime = stage.start(played(turns));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut statuses = Vec::new();
    while let Some(event) = events.next().await {
        let event = serde_json::to_value(&event).expect("JSON");
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
