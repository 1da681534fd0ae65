//! The order of events, as a driver and as extensions see it.

use zot_host::message::Role;

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

#[tokio::test]
async fn a_provider_failure_is_reported_once_and_leaves_a_valid_transcript() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted("{\"text\": \"half\", \"cut_off\": true}"));
    let published = PromptEvents::of(&runtime, "go").await;
    let last = published.types();
    assert_eq!(last[last.len() - 2..], ["turn_end", "done"]);
    assert!(
        published.all().contains("ended its answer early"),
        "{}",
        published.all()
    );
    assert_eq!(
        runtime.messages().await.len(),
        1,
        "the partial answer is dropped"
    );
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
