//! Automatic compaction when the transcript approaches the context window.

use zot_host::{
    Runtime, RuntimeConfig,
    message::Role,
    provider::{Catalogue, Demo, Resolved},
    session::Choice,
};

use super::stage::{Stage, Told, came, played};

/// A demo model with a context window of 1,000 tokens.
fn small_context(stage: &Stage, script: &str) -> RuntimeConfig {
    let home = stage.folder.path().join("home");
    std::fs::create_dir_all(&home).expect("a folder");
    let models = r#"{"models": [{"provider": "demo", "id": "demo", "context_window": 1000}]}"#;
    std::fs::write(home.join("models.json"), models).expect("written");
    let (catalogue, faults) = Catalogue::load(&zot_host::home::Home::at(&home));
    assert_eq!(faults, [""; 0]);
    let mut config = stage.config(Demo::new());
    let model = catalogue.model("demo", "demo");
    let provider = Box::new(played(script));
    config.set_model(Resolved { provider, model });
    config.session = Choice::New;
    config
}

#[tokio::test]
async fn compacts_before_the_next_prompt() {
    let stage = Stage::new().with("a", "", "mark");
    let script = [
        r#"{"text": "long", "usage": {"input": 800, "output": 60}}"#,
        r#"{"text": "all of it, in short"}"#,
        r#"{"text": "fine", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&stage, &script.join("\n"))).expect("an agent");
    Told::of(&runtime, "one").await;
    let context = runtime.context().await;
    assert_eq!((context.used, context.window), (860, 1000));
    let told = Told::of(&runtime, "two").await;
    assert_eq!(told.types()[..2], ["compact_done", "user_message"]);
    assert_eq!(told.text(), "fine");
    assert_eq!(told.types().iter().filter(|it| **it == "done").count(), 1);
    let messages = runtime.messages().await;
    assert_eq!(messages.len(), 3);
    assert!(messages[0].text().ends_with("all of it, in short"));
    assert_eq!(messages[1].text(), "two");
    assert!(came(&runtime, "a").await.contains(&"compact".to_owned()));
    // The session file keeps the messages from before the compaction.
    let (path, count) = runtime.session().await.expect("kept");
    assert_eq!(count, 4);
    assert!(
        std::fs::read_to_string(path)
            .expect("a file")
            .contains("\"one\"")
    );
    runtime.close().await;
}

#[tokio::test]
async fn compacts_between_two_steps() {
    let stage = Stage::new();
    let script = [
        r#"{"tool_call": {"name": "bash", "args": {"command": "true"}}, "usage": {"input": 900, "output": 9}}"#,
        r#"{"text": "it ran a command"}"#,
        r#"{"text": "done", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&stage, &script.join("\n"))).expect("an agent");
    let told = Told::of(&runtime, "go").await;
    let types = told.types();
    let result = types
        .iter()
        .position(|it| *it == "tool_result")
        .expect("one");
    assert_eq!(
        types[result..result + 3],
        ["tool_result", "compact_done", "turn_start"]
    );
    assert_eq!(told.text(), "done");
    let roles: Vec<Role> = runtime.messages().await.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    runtime.close().await;
}

#[tokio::test]
async fn a_failed_compaction_does_not_stop_the_prompt() {
    let stage = Stage::new();
    let script = [
        r#"{"text": "long", "usage": {"input": 990, "output": 9}}"#,
        r#"{"error": "overloaded"}"#,
        r#"{"text": "fine", "usage": {"input": 20, "output": 1}}"#,
    ];
    let runtime = Runtime::new(small_context(&stage, &script.join("\n"))).expect("an agent");
    Told::of(&runtime, "one").await;
    let told = Told::of(&runtime, "two").await;
    assert_eq!(told.text(), "fine");
    assert_eq!(runtime.messages().await.len(), 4);
    runtime.close().await;
}
