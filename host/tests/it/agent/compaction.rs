//! Automatic compaction when the transcript approaches the context window.

use zot_host::{
    Runtime, RuntimeConfig,
    message::Role,
    provider::{Catalogue, Demo, Resolved},
    session::Choice,
};

use super::fixture::{AgentFixture, PromptEvents, received, scripted};

/// A demo model with a context window of 1,000 tokens.
fn small_context(fixture: &AgentFixture, script: &str) -> RuntimeConfig {
    let home = fixture.folder.path().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let models = r#"{"models": [{"provider": "demo", "id": "demo", "context_window": 1000}]}"#;
    std::fs::write(home.join("models.json"), models).unwrap();
    let (catalogue, faults) = Catalogue::load(
        &zot_host::home::Home::at(&home),
        &zot_protocol::Config::default(),
    );
    assert_eq!(faults, [""; 0]);
    let mut config = fixture.config(Demo::new());
    let model = catalogue.model("demo", "demo");
    let provider = Box::new(scripted(script));
    config.set_model(Resolved { provider, model });
    config.session = Choice::New;
    config
}

#[tokio::test]
async fn compacts_before_the_next_prompt() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let script = [
        r#"{"text": "long", "usage": {"input": 800, "output": 60}}"#,
        r#"{"text": "all of it, in short"}"#,
        r#"{"text": "fine", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&fixture, &script.join("\n"))).unwrap();
    PromptEvents::of(&runtime, "one").await;
    let context = runtime.context().await;
    assert_eq!((context.used, context.window), (860, 1000));
    let published = PromptEvents::of(&runtime, "two").await;
    assert_eq!(published.types()[..2], ["compact_done", "user_message"]);
    assert_eq!(published.text(), "fine");
    assert_eq!(
        published.types().iter().filter(|it| **it == "done").count(),
        1
    );
    let messages = runtime.messages().await;
    assert_eq!(messages.len(), 3);
    assert!(messages[0].text().ends_with("all of it, in short"));
    assert_eq!(messages[1].text(), "two");
    assert!(
        received(&runtime, "a")
            .await
            .contains(&"compact".to_owned())
    );
    // The session file keeps the messages from before the compaction.
    let (path, count) = runtime.session().await.unwrap();
    assert_eq!(count, 4);
    assert!(std::fs::read_to_string(path).unwrap().contains("\"one\""));
    runtime.close().await;
}

#[tokio::test]
async fn compacts_between_two_steps() {
    let fixture = AgentFixture::new();
    let script = [
        r#"{"tool_call": {"name": "bash", "args": {"command": "true"}}, "usage": {"input": 900, "output": 9}}"#,
        r#"{"text": "it ran a command"}"#,
        r#"{"text": "done", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&fixture, &script.join("\n"))).unwrap();
    let published = PromptEvents::of(&runtime, "go").await;
    let types = published.types();
    let result = types.iter().position(|it| *it == "tool_result").unwrap();
    assert_eq!(
        types[result..result + 3],
        ["tool_result", "compact_done", "turn_start"]
    );
    assert_eq!(published.text(), "done");
    let roles: Vec<Role> = runtime.messages().await.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    runtime.close().await;
}

/// Asking for a summary at every step would double the cost of a conversation that cannot be
/// compacted.
#[tokio::test]
async fn a_failed_compaction_is_not_repeated_at_every_step() {
    let fixture = AgentFixture::new();
    let call = |used: u64| {
        format!(
            r#"{{"tool_call": {{"name": "bash", "args": {{"command": "true"}}}}, "usage": {{"input": {used}, "output": 1}}}}"#
        )
    };
    let script = [
        call(900),
        r#"{"text": "the summary was cut o", "stop": "length", "usage": {"input": 900, "output": 1}}"#
            .to_owned(),
        call(910),
        call(920),
        call(940),
        r#"{"text": "a short summary"}"#.to_owned(),
        r#"{"text": "done", "usage": {"input": 20, "output": 1}}"#.to_owned(),
    ];
    let runtime = Runtime::new(small_context(&fixture, &script.join("\n"))).unwrap();
    let published = PromptEvents::of(&runtime, "go").await;
    assert_eq!(published.text(), "done", "{published:?}");
    let types = published.types();
    let compactions = types.iter().filter(|it| **it == "compact_done");
    assert_eq!(compactions.count(), 1);
    assert_eq!(published.results().len(), 4);
    runtime.close().await;
}

#[tokio::test]
async fn a_failed_compaction_does_not_stop_the_prompt() {
    let fixture = AgentFixture::new();
    let script = [
        r#"{"text": "long", "usage": {"input": 990, "output": 9}}"#,
        r#"{"error": "overloaded"}"#,
        r#"{"text": "fine", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&fixture, &script.join("\n"))).unwrap();
    PromptEvents::of(&runtime, "one").await;
    let published = PromptEvents::of(&runtime, "two").await;
    assert_eq!(published.text(), "fine");
    assert_eq!(runtime.messages().await.len(), 4);
    runtime.close().await;
}
