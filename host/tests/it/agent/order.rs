//! The order of events, as a driver and as extensions see it.

use std::{sync::Arc, time::Duration};

use zot_host::{
    Prompt, Runtime, Unavailable,
    message::{Block, Role},
    provider::Retry,
};
use zot_protocol::{NoteLevel, StopReason, Tagged, rpc::Event};

use super::fixture::{AgentFixture, PromptEvents, received, scripted};

/// Arguments are published after the interceptors have run, not while the model streams them.
#[tokio::test]
async fn events_of_a_turn_with_a_tool_call() {
    let fixture = AgentFixture::new().with("a", "turn_start,tool_call", "mark");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "/call say-a {}").await;
    assert_eq!(
        published.types(),
        [
            "user_message",
            "turn_start",
            "assistant_start",
            "tool_use_start",
            "tool_use_end",
            "usage",
            "assistant_message",
            "turn_end",
            "tool_call",
            "tool_result",
            "turn_start",
            "assistant_start",
            "text_delta",
            "usage",
            "assistant_message",
            "turn_end",
            "done",
        ]
    );
    assert_eq!(
        received(&runtime, "a").await,
        [
            "session_start",
            "user_message",
            "turn_start",
            "? turn_start",
            "tool_call",
            "turn_end",
            "? tool_call",
            "tool_result",
            "turn_start",
            "? turn_start",
            "assistant_message",
            "turn_end",
        ]
    );
    let roles: Vec<Role> = runtime.messages().await.iter().map(|it| it.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
    );
    runtime.close().await;
}

#[tokio::test]
async fn tool_args_stream_when_no_extension_intercepts_them() {
    let fixture = AgentFixture::new();
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, r#"/call read {"path": "nothing"}"#).await;
    let types = published.types();
    let from = types.iter().position(|it| *it == "tool_use_start");
    assert_eq!(
        types[from.unwrap()..][..7],
        [
            "tool_use_start",
            "tool_use_args",
            "tool_use_end",
            "usage",
            "assistant_message",
            "tool_call",
            "turn_end",
        ]
    );
    runtime.close().await;
}

#[tokio::test]
async fn text_streams_when_no_extension_intercepts_it() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(r#"{"text": ["one ", "two ", "three"]}"#));
    let published = PromptEvents::of(&runtime, "count").await;
    assert_eq!(published.text(), "one two three");
    let pieces = published
        .0
        .iter()
        .filter(|it| zot_protocol::Tagged::name(*it) == "text_delta");
    assert_eq!(pieces.count(), 3);
    runtime.close().await;
}

#[tokio::test]
async fn the_model_gets_an_error_result_for_an_invalid_call() {
    let turns = [
        r#"{"tool_calls": [{"name": "nope", "args": {}}]}"#,
        r#"{"tool_calls": [{"name": "read", "args": "{\"path\": "}]}"#,
        r#"{"text": "sorry"}"#,
    ];
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(&turns.join("\n")));
    let published = PromptEvents::of(&runtime, "go").await;
    let results = published.results();
    assert!(results[0].0.contains("nope"), "{results:?}");
    assert!(results[1].0.contains("not JSON"), "{results:?}");
    assert_eq!(published.text(), "sorry");
    runtime.close().await;
}

/// Text that the user saw is kept in the transcript, without the tool call that never ran.
#[tokio::test]
async fn a_failure_in_mid_stream_keeps_the_text_and_its_usage() {
    let fixture = AgentFixture::new();
    let mut config = fixture.config(scripted(
        r#"[{"usage": {"input": 7, "output": 3}}, {"text": "half"}, {"tool_call": {"name": "read", "args": {}}}, {"cut_off": true}]"#,
    ));
    config.retry = Retry::never();
    let runtime = Runtime::new(config).unwrap();
    let published = PromptEvents::of(&runtime, "go").await;
    assert_eq!(
        published.types(),
        [
            "user_message",
            "turn_start",
            "assistant_start",
            "text_delta",
            "tool_use_start",
            "tool_use_args",
            "tool_use_end",
            "usage",
            "assistant_message",
            "turn_end",
            "error",
            "done",
        ]
    );
    assert!(
        published.all().contains("ended its answer early"),
        "{}",
        published.all()
    );
    let messages = runtime.messages().await;
    assert_eq!(messages.len(), 2);
    assert_eq!(
        messages[1].content,
        [Block::Text {
            text: "half".into()
        }]
    );
    assert_eq!(runtime.usage().await.input, 7);
    runtime.close().await;
}

#[tokio::test]
async fn a_failure_before_the_answer_has_no_assistant_start() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(r#"{"error": "no such model"}"#));
    let published = PromptEvents::of(&runtime, "go").await;
    assert_eq!(
        published.types(),
        ["user_message", "turn_start", "turn_end", "error", "done"]
    );
    let Event::Error(error) = &published.0[3] else {
        panic!("not an error: {published:?}");
    };
    assert!(error.message.contains("no such model"), "{error:?}");
    runtime.close().await;
}

#[tokio::test]
async fn the_usage_of_an_aborted_answer_counts() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(
        r#"[{"usage": {"input": 7, "output": 3}}, {"text": "half"}, {"delay_ms": 600000}]"#,
    ));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut types = Vec::new();
    while let Some(event) = events.next().await {
        types.push(event.name().to_owned());
        if matches!(event, Event::TextDelta(_)) {
            runtime.cancel();
        }
    }
    assert_eq!(
        types[4..],
        ["usage", "assistant_message", "turn_end", "done"]
    );
    assert_eq!(runtime.usage().await.input, 7);
    runtime.close().await;
}

#[tokio::test]
async fn an_abort_during_a_tool_ends_with_an_aborted_turn_end() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(
        r#"{"tool_calls": [{"name": "bash", "args": {"command": "echo go; sleep 600"}}, {"name": "bash", "args": {"command": "true"}}]}"#,
    ));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let mut published = Vec::new();
    while let Some(event) = events.next().await {
        if matches!(event, Event::ToolProgress(_)) {
            runtime.cancel();
        }
        published.push(event);
    }
    let published = PromptEvents(published);
    let types = published.types();
    assert_eq!(
        types[types.len() - 4..],
        ["tool_result", "tool_result", "turn_end", "done"]
    );
    let statuses: Vec<_> = published.results().into_iter().map(|it| it.1).collect();
    assert_eq!(statuses, ["cancelled", "cancelled"]);
    let Some(Event::TurnEnd(end)) = published.0.iter().rev().nth(1) else {
        panic!("no turn_end: {published:?}");
    };
    assert_eq!(end.stop, StopReason::Aborted);
    runtime.close().await;
}

/// The user must see a call before the guard's remark about it.
#[tokio::test]
async fn notes_of_an_interceptor_follow_the_event_they_are_about() {
    #[derive(Default)]
    struct Recorder(parking_lot::Mutex<Vec<String>>);
    impl zot_host::Hooks for Recorder {
        fn note(&self, _: &str, _: NoteLevel, message: &str) {
            self.0.lock().push(message.to_owned());
        }
    }
    let recorder = Arc::new(Recorder::default());
    let fixture = AgentFixture::new().with(
        "a",
        "user_message,turn_start,tool_call,tool_result,assistant_message",
        "note",
    );
    let mut config = fixture.config(scripted(
        r#"{"tool_call": {"name": "say-a", "args": {}}}
{"text": "fine"}"#,
    ));
    config.hooks = recorder.clone();
    let runtime = Runtime::new(config).unwrap();
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    while let Some(event) = events.next().await {
        // A slow reader: notes must wait for it.
        tokio::time::sleep(Duration::from_millis(5)).await;
        recorder.0.lock().push(format!("> {}", event.name()));
    }
    let seen = recorder.0.lock().clone();
    for event in [
        "user_message",
        "turn_start",
        "tool_call",
        "tool_result",
        "assistant_message",
    ] {
        let note_at = seen.iter().rposition(|it| it == event).expect(event);
        assert_eq!(seen[note_at - 1], format!("> {event}"), "{seen:#?}");
    }
    runtime.close().await;
}

/// A program that stops reading, but keeps the stream, can still close the runtime.
#[tokio::test]
async fn an_unread_stream_does_not_hold_up_close() {
    let fixture = AgentFixture::new().with("a", "user_message,turn_start", "note");
    let runtime = fixture.start(scripted(r#"{"text": "fine"}"#));
    let mut events = runtime.prompt(Prompt::text("go")).expect("idle");
    let first = events.next().await;
    assert!(matches!(first, Some(Event::UserMessage(_))), "{first:?}");
    tokio::time::timeout(Duration::from_secs(60), runtime.close())
        .await
        .expect("close() waits for the reader");
    drop(events);
}

#[tokio::test]
async fn a_closed_runtime_starts_nothing() {
    let runtime = AgentFixture::new().demo();
    runtime.close().await;
    let closed = Some(Unavailable::Closed);
    assert_eq!(runtime.prompt(Prompt::text("go")).err(), closed);
    assert_eq!(runtime.compact().err(), closed);
    assert_eq!(runtime.clear().await.err(), closed);
    runtime.close().await;
}

#[tokio::test]
async fn exceeding_max_steps_is_an_error() {
    let fixture = AgentFixture::new();
    let mut config = fixture.config(zot_host::provider::Demo::new());
    config.max_steps = Some(1);
    let runtime = zot_host::Runtime::new(config).unwrap();
    let published = PromptEvents::of(&runtime, "/call read {\"path\":\".\"}").await;
    let types = published.types();
    assert_eq!(types[types.len() - 2..], ["error", "done"]);
    runtime.close().await;
}

#[tokio::test]
async fn a_second_prompt_is_rejected_while_one_runs() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted("[{\"delay_ms\": 60000}, {\"text\": \"late\"}]"));
    let events = runtime.prompt(zot_host::Prompt::text("go")).expect("idle");
    assert!(runtime.prompt(zot_host::Prompt::text("again")).is_err());
    assert!(runtime.compact().is_err());
    // Dropping the event stream cancels the prompt.
    drop(events);
    while runtime.is_busy() {
        tokio::task::yield_now().await;
    }
    runtime.close().await;
}
