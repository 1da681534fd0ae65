//! Interception during a turn, with chains of three extensions in load order.

use zot_host::message::{Block, Role};

use super::fixture::{AgentFixture, PromptEvents, RecordingProvider, received, scripted};

/// Three extensions that mark the same event.
fn three(event: &str) -> AgentFixture {
    ["1", "2", "3"]
        .into_iter()
        .fold(AgentFixture::new(), |fixture, name| {
            fixture.with(name, event, "mark")
        })
}

#[tokio::test]
async fn an_extension_tool_is_called() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "/call say-a {\"text\":\"x\"}").await;
    assert_eq!(
        published.results(),
        [(r#"{"text": "x"}"#.to_owned(), "completed".to_owned())]
    );
    assert!(
        published.text().contains(r#"{"text": "x"}"#),
        "{}",
        published.text()
    );
    runtime.close().await;
}

#[tokio::test]
async fn rewritten_args_reach_the_tool_and_the_transcript_keeps_the_original() {
    let fixture = three("tool_call");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "/call say-1 {\"text\":\"x\"}").await;
    assert_eq!(published.results()[0].0, r#"{"text": "x123"}"#);
    let messages = runtime.messages().await;
    let proposed = messages
        .iter()
        .flat_map(|it| &it.content)
        .find_map(|block| match block {
            Block::ToolCall { args, .. } => Some(args["text"].clone()),
            _ => None,
        });
    assert_eq!(proposed, Some("x".into()));
    runtime.close().await;
}

#[tokio::test]
async fn the_first_block_ends_the_chain_and_the_model_gets_the_reason() {
    let fixture = AgentFixture::new()
        .with("1", "tool_call", "mark")
        .with("2", "tool_call", "block")
        .with("3", "tool_call", "mark");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "/call say-1 {\"text\":\"x\"}").await;
    assert_eq!(
        published.results(),
        [("2 refuses".to_owned(), "blocked".to_owned())]
    );
    assert!(
        published.text().contains("2 refuses"),
        "the model gets the reason: {}",
        published.text()
    );
    assert!(
        !received(&runtime, "3")
            .await
            .contains(&"? tool_call".to_owned())
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_crashed_guard_blocks_under_on_failure_block() {
    let fixture = AgentFixture::new()
        .with("1", "tool_call", "crash")
        .with("2", "", "mark");
    let runtime = fixture.demo();
    for _ in 0..2 {
        let published = PromptEvents::of(&runtime, "/call say-2 {}").await;
        let (reason, status) = &published.results()[0];
        assert_eq!(status, "blocked", "{reason}");
    }
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_turn_does_not_call_the_model() {
    let recorder = RecordingProvider::default();
    let fixture = AgentFixture::new()
        .with("1", "turn_start", "mark")
        .with("2", "turn_start", "block")
        .with("3", "turn_start", "mark");
    let runtime = fixture.start(recorder.clone());
    let published = PromptEvents::of(&runtime, "hello").await;
    assert_eq!(
        published.types(),
        ["user_message", "turn_start", "turn_end", "error", "done"]
    );
    assert!(published.all().contains("2 refuses"));
    assert!(recorder.0.lock().unwrap().is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn a_redacted_message_never_streams_its_secret() {
    let fixture = three("assistant_message");
    let runtime = fixture.start(scripted(
        r#"{"text": ["The password ", "is hun", "ter2", "."]}"#,
    ));
    let published = PromptEvents::of(&runtime, "what is it?").await;
    assert_eq!(published.text(), "The password is .123");
    assert!(!published.all().contains("hun"), "{}", published.all());
    let last = runtime.messages().await.last().unwrap().text();
    assert_eq!(
        last, "The password is hunter2.",
        "the transcript keeps the original"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_message_is_replaced_by_the_reason() {
    let fixture = AgentFixture::new().with("1", "assistant_message", "block");
    let runtime = fixture.start(scripted(r#"{"text": "hunter2"}"#));
    let published = PromptEvents::of(&runtime, "what is it?").await;
    assert_eq!(published.text(), "1 refuses");
    assert!(!published.all().contains("hunter2"));
    runtime.close().await;
}

#[tokio::test]
async fn a_replaced_result_reaches_the_model_and_the_user() {
    let fixture = three("tool_result");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "/call say-1 {}").await;
    assert_eq!(published.results()[0].0, "{}123");
    assert!(published.text().contains("{}123"));
    runtime.close().await;
}

#[tokio::test]
async fn a_rewritten_user_message_reaches_the_model_and_the_transcript() {
    let recorder = RecordingProvider::default();
    let fixture = three("user_message");
    let runtime = fixture.start(recorder.clone());
    let published = PromptEvents::of(&runtime, "hello ").await;
    assert!(published.all().contains("hello 123"));
    assert_eq!(
        recorder.0.lock().unwrap()[0].messages[0].text(),
        "hello 123"
    );
    assert_eq!(runtime.messages().await[0].text(), "hello 123");
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_user_message_is_not_submitted() {
    let fixture = AgentFixture::new().with("1", "user_message", "block");
    let runtime = fixture.demo();
    let published = PromptEvents::of(&runtime, "hello").await;
    assert_eq!(published.types(), ["error", "done"]);
    assert!(published.all().contains("1 refuses"));
    assert!(runtime.messages().await.is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn the_system_prompt_is_intercepted_once_and_again_after_a_reload() {
    let recorder = RecordingProvider::default();
    let fixture = three("before_agent_start");
    let runtime = fixture.start(recorder.clone());
    for _ in 0..2 {
        PromptEvents::of(&runtime, "hello").await;
    }
    let systems: Vec<String> = recorder
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|it| it.system.to_string())
        .collect();
    assert!(
        systems.iter().all(|system| system.ends_with("123")),
        "{systems:?}"
    );
    let asks = |received: &[String]| {
        received
            .iter()
            .filter(|it| *it == "? before_agent_start")
            .count()
    };
    assert_eq!(asks(&received(&runtime, "1").await), 1);
    runtime.reload_extensions().await.expect("idle");
    PromptEvents::of(&runtime, "hello").await;
    assert_eq!(
        asks(&received(&runtime, "1").await),
        1,
        "the reloaded process is asked once"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_built_in_tool_called_by_a_tool_is_intercepted() {
    let fixture = AgentFixture::new().with("1", "tool_call", "mark");
    let runtime = fixture.demo();
    let file = runtime.toolbox().cwd().join("note");
    std::fs::write(&file, "kept").unwrap();
    let call = r#"/call say-1 {"call":"read","with":{"path":"note"}}"#;
    let published = PromptEvents::of(&runtime, call).await;
    assert!(
        published.results()[0].0.contains("kept"),
        "{:?}",
        published.results()
    );
    let asked = received(&runtime, "1").await;
    assert_eq!(asked.iter().filter(|it| *it == "? tool_call").count(), 2);
    assert_eq!(
        runtime.messages().await.last().map(|it| it.role),
        Some(Role::Assistant)
    );
    runtime.close().await;
}
