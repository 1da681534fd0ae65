//! Changes to an idle agent: the model, the transcript, the session.

use zot_host::{
    Busy, Prompt, SetModelError,
    provider::{Catalogue, Demo, Resolved},
    session::{Choice, messages},
};

use super::stage::{Asked, Stage, Told, came, played};

#[tokio::test]
async fn changing_the_model_reaches_the_provider_and_the_interceptors() {
    let stage = Stage::new().with("a", "before_agent_start", "mark");
    let asked = Asked::default();
    let mut config = stage.config(asked.clone());
    config.session = Choice::New;
    let runtime = zot_host::Runtime::new(config).expect("an agent");
    Told::of(&runtime, "one").await;
    let resolved = Resolved {
        provider: Box::new(asked.clone()),
        model: Catalogue::built_in().model("anthropic", "claude-sonnet-5-5"),
    };
    runtime.set_provider(resolved).await.expect("idle");
    runtime.set_model("claude-opus-5-5").await.expect("known");
    Told::of(&runtime, "two").await;

    let requests = asked.0.lock().expect("not poisoned").clone();
    let models: Vec<&str> = requests.iter().map(|it| it.model.as_str()).collect();
    assert_eq!(models, ["demo", "claude-opus-5-5"]);
    let told = came(&runtime, "a").await;
    let prompts = told.iter().filter(|it| *it == "? before_agent_start");
    assert_eq!(prompts.count(), 2, "{told:?}");
    let now = runtime.state().await;
    assert_eq!((&*now.model, now.message_count), ("claude-opus-5-5", 4));
    let (path, _) = runtime.session().await.expect("kept");
    let file = std::fs::read_to_string(path).expect("a session");
    assert!(
        file.contains(r#""type":"model","provider":"recording","model":"claude-opus-5-5""#),
        "{file}"
    );
    runtime.close().await;
}

#[tokio::test]
async fn an_unknown_model_is_rejected_and_the_error_lists_known_ones() {
    let stage = Stage::new();
    let runtime = stage.demo();
    let error = runtime
        .set_model("gpt-5.2")
        .await
        .expect_err("belongs to another provider");
    assert_eq!(
        error.to_string(),
        "demo has no model `gpt-5.2`; known: demo"
    );
    assert!(matches!(error, SetModelError::Unknown { .. }));
    assert_eq!(runtime.state().await.model, "demo");
    let models = runtime.models().await;
    assert_eq!(models.len(), 1);
    runtime.close().await;
}

#[tokio::test]
async fn a_busy_agent_rejects_changes() {
    let stage = Stage::new();
    let runtime = stage.start(played(r#"[{"delay_ms": 60000}]"#));
    let events = runtime.prompt(Prompt::text("go")).expect("idle");
    assert_eq!(runtime.clear().await, Err(Busy));
    assert_eq!(runtime.set_reasoning(None).await, Err(Busy));
    assert_eq!(
        runtime.set_model("demo").await,
        Err(SetModelError::Busy(Busy))
    );
    assert!(runtime.reload_extensions().await.is_err());
    assert!(runtime.state().await.busy);
    runtime.cancel();
    drop(events);
    runtime.idle().await;
    assert_eq!(runtime.clear().await, Ok(()));
    runtime.close().await;
}

#[tokio::test]
async fn clear_starts_a_new_session_and_keeps_the_old_one() {
    let stage = Stage::new().with("a", "", "mark");
    let mut config = stage.config(Demo::new());
    config.session = Choice::New;
    let runtime = zot_host::Runtime::new(config).expect("an agent");
    Told::of(&runtime, "one").await;
    let (first, _) = runtime.session().await.expect("kept");
    runtime.clear().await.expect("idle");
    assert_eq!(runtime.state().await.message_count, 0);
    Told::of(&runtime, "two").await;
    let (second, _) = runtime.session().await.expect("kept");
    assert_ne!(first, second);
    assert_eq!(runtime.sessions().list().sessions.len(), 2);
    let told = came(&runtime, "a").await;
    let sessions: Vec<&String> = told
        .iter()
        .filter(|it| it.starts_with("session_"))
        .collect();
    assert_eq!(sessions, ["session_start", "session_end", "session_start"]);

    // Reopen the first session.
    let opened = runtime
        .sessions()
        .open(&first, "demo", "demo")
        .expect("there");
    runtime.adopt(opened).await.expect("idle");
    let transcript = runtime.messages().await;
    assert_eq!(transcript.first().expect("one").text(), "one");
    runtime.close().await;
}

#[tokio::test]
async fn clear_keeps_writing_to_an_explicit_session_file() {
    let stage = Stage::new();
    let path = stage.folder.path().join("own.jsonl");
    let start = |prompt: &'static str, clear: bool| {
        let mut config = stage.config(Demo::new());
        config.session = Choice::File(path.clone());
        async move {
            let runtime = zot_host::Runtime::new(config).expect("an agent");
            if clear {
                runtime.clear().await.expect("idle");
            }
            Told::of(&runtime, prompt).await;
            let messages = runtime.messages().await;
            runtime.close().await;
            messages
        }
    };
    start("one", false).await;
    let after = start("two", true).await;
    assert_eq!(after.len(), 2);
    let again = start("three", false).await;
    let first = again.first().expect("one").text();
    assert_eq!((first.as_str(), again.len()), ("two", 4));
    assert_eq!(
        messages(&path).expect("readable").len(),
        6,
        "the file keeps the cleared messages"
    );
}
