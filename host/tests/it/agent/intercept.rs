//! Interception during a turn, each with a chain of three extensions in load order.

use zot_host::message::{Block, Role};

use super::stage::{Asked, Stage, Told, came, played};

/// Three extensions that mark the same event.
fn three(event: &str) -> Stage {
    ["1", "2", "3"]
        .into_iter()
        .fold(Stage::new(), |stage, name| stage.with(name, event, "mark"))
}

#[tokio::test]
async fn an_extension_tool_is_called() {
    let stage = Stage::new().with("a", "", "mark");
    let runtime = stage.demo();
    let told = Told::of(&runtime, "/call say-a {\"text\":\"x\"}").await;
    assert_eq!(
        told.results(),
        [(r#"{"text": "x"}"#.to_owned(), "completed".to_owned())]
    );
    assert!(told.text().contains(r#"{"text": "x"}"#), "{}", told.text());
    runtime.close().await;
}

#[tokio::test]
async fn rewritten_args_reach_the_tool_and_the_transcript_keeps_the_original() {
    let stage = three("tool_call");
    let runtime = stage.demo();
    let told = Told::of(&runtime, "/call say-1 {\"text\":\"x\"}").await;
    assert_eq!(told.results()[0].0, r#"{"text": "x123"}"#);
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
    let stage = Stage::new()
        .with("1", "tool_call", "mark")
        .with("2", "tool_call", "block")
        .with("3", "tool_call", "mark");
    let runtime = stage.demo();
    let told = Told::of(&runtime, "/call say-1 {\"text\":\"x\"}").await;
    assert_eq!(
        told.results(),
        [("2 refuses".to_owned(), "blocked".to_owned())]
    );
    assert!(
        told.text().contains("2 refuses"),
        "the model gets the reason: {}",
        told.text()
    );
    assert!(
        !came(&runtime, "3")
            .await
            .contains(&"? tool_call".to_owned())
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_crashed_guard_blocks_under_on_failure_block() {
    let stage = Stage::new()
        .with("1", "tool_call", "crash")
        .with("2", "", "mark");
    let runtime = stage.demo();
    for _ in 0..2 {
        let told = Told::of(&runtime, "/call say-2 {}").await;
        let (reason, status) = &told.results()[0];
        assert_eq!(status, "blocked", "{reason}");
    }
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_turn_does_not_call_the_model() {
    let asked = Asked::default();
    let stage = Stage::new()
        .with("1", "turn_start", "mark")
        .with("2", "turn_start", "block")
        .with("3", "turn_start", "mark");
    let runtime = stage.start(asked.clone());
    let told = Told::of(&runtime, "hello").await;
    assert_eq!(
        told.types(),
        ["user_message", "turn_start", "turn_end", "done"]
    );
    assert!(told.all().contains("2 refuses"));
    assert!(asked.0.lock().unwrap().is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn a_redacted_message_never_streams_its_secret() {
    let stage = three("assistant_message");
    let runtime = stage.start(played(
        r#"{"text": ["The password ", "is hun", "ter2", "."]}"#,
    ));
    let told = Told::of(&runtime, "what is it?").await;
    assert_eq!(told.text(), "The password is .123");
    assert!(!told.all().contains("hun"), "{}", told.all());
    let last = runtime.messages().await.last().expect("one").text();
    assert_eq!(
        last, "The password is hunter2.",
        "the transcript keeps the original"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_message_is_replaced_by_the_reason() {
    let stage = Stage::new().with("1", "assistant_message", "block");
    let runtime = stage.start(played(r#"{"text": "hunter2"}"#));
    let told = Told::of(&runtime, "what is it?").await;
    assert_eq!(told.text(), "1 refuses");
    assert!(!told.all().contains("hunter2"));
    runtime.close().await;
}

#[tokio::test]
async fn a_replaced_result_reaches_the_model_and_the_user() {
    let stage = three("tool_result");
    let runtime = stage.demo();
    let told = Told::of(&runtime, "/call say-1 {}").await;
    assert_eq!(told.results()[0].0, "{}123");
    assert!(told.text().contains("{}123"));
    runtime.close().await;
}

#[tokio::test]
async fn a_rewritten_user_message_reaches_the_model_and_the_transcript() {
    let asked = Asked::default();
    let stage = three("user_message");
    let runtime = stage.start(asked.clone());
    let told = Told::of(&runtime, "hello ").await;
    assert!(told.all().contains("hello 123"));
    assert_eq!(asked.0.lock().unwrap()[0].messages[0].text(), "hello 123");
    assert_eq!(runtime.messages().await[0].text(), "hello 123");
    runtime.close().await;
}

#[tokio::test]
async fn a_blocked_user_message_is_not_submitted() {
    let stage = Stage::new().with("1", "user_message", "block");
    let runtime = stage.demo();
    let told = Told::of(&runtime, "hello").await;
    assert_eq!(told.types(), ["error", "done"]);
    assert!(told.all().contains("1 refuses"));
    assert!(runtime.messages().await.is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn the_system_prompt_is_intercepted_once_and_again_after_a_reload() {
    let asked = Asked::default();
    let stage = three("before_agent_start");
    let runtime = stage.start(asked.clone());
    for _ in 0..2 {
        Told::of(&runtime, "hello").await;
    }
    let systems: Vec<String> = asked
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|it| it.system.clone())
        .collect();
    assert!(
        systems.iter().all(|system| system.ends_with("123")),
        "{systems:?}"
    );
    let asks = |came: &[String]| {
        came.iter()
            .filter(|it| *it == "? before_agent_start")
            .count()
    };
    assert_eq!(asks(&came(&runtime, "1").await), 1);
    runtime.reload_extensions().await.expect("idle");
    Told::of(&runtime, "hello").await;
    assert_eq!(
        asks(&came(&runtime, "1").await),
        1,
        "the reloaded process is asked once"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_built_in_tool_called_by_a_tool_is_intercepted() {
    let stage = Stage::new().with("1", "tool_call", "mark");
    let runtime = stage.demo();
    let file = runtime.toolbox().cwd().join("note");
    std::fs::write(&file, "kept").expect("a file");
    let call = r#"/call say-1 {"call":"read","with":{"path":"note"}}"#;
    let told = Told::of(&runtime, call).await;
    assert!(told.results()[0].0.contains("kept"), "{:?}", told.results());
    let asked = came(&runtime, "1").await;
    assert_eq!(asked.iter().filter(|it| *it == "? tool_call").count(), 2);
    assert_eq!(
        runtime.messages().await.last().map(|it| it.role),
        Some(Role::Assistant)
    );
    runtime.close().await;
}
