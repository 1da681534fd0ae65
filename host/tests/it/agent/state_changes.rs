//! Changes to an idle agent: the model, the transcript, the session.

use serde_json::json;
use zot_host::{
    Prompt, Runtime, SetModelError, Unavailable,
    provider::{Anthropic, Catalogue, Demo, Endpoint, Resolved},
    session::{Choice, messages},
};

use super::fixture::{AgentFixture, PromptEvents, RecordingProvider, received, scripted};
use crate::support::replies::{Reply, Server};

#[tokio::test]
async fn changing_the_model_reaches_the_provider_and_the_interceptors() {
    let fixture = AgentFixture::new().with("a", "before_agent_start", "mark");
    let recorder = RecordingProvider::default();
    let mut config = fixture.config(recorder.clone());
    config.session = Choice::New;
    let runtime = zot_host::Runtime::new(config).unwrap();
    PromptEvents::of(&runtime, "one").await;
    let resolved = Resolved {
        provider: Box::new(recorder.clone()),
        model: Catalogue::built_in().model("anthropic", "claude-sonnet-5-5"),
    };
    runtime.set_provider(resolved).await.expect("idle");
    runtime.set_model("claude-opus-5-5").await.unwrap();
    PromptEvents::of(&runtime, "two").await;

    let requests = recorder.0.lock().expect("not poisoned").clone();
    let models: Vec<&str> = requests.iter().map(|it| it.model.as_str()).collect();
    assert_eq!(models, ["demo", "claude-opus-5-5"]);
    let received = received(&runtime, "a").await;
    let prompts = received.iter().filter(|it| *it == "? before_agent_start");
    assert_eq!(prompts.count(), 2, "{received:?}");
    let now = runtime.state().await;
    assert_eq!((&*now.model, now.message_count), ("claude-opus-5-5", 4));
    let (path, _) = runtime.session().await.unwrap();
    let file = std::fs::read_to_string(path).unwrap();
    assert!(
        file.contains(r#""type":"model","provider":"recording","model":"claude-opus-5-5""#),
        "{file}"
    );
    runtime.close().await;
}

#[tokio::test]
async fn models_that_only_the_server_knows_are_offered_and_accepted() {
    let fixture = AgentFixture::new();
    let list = json!({"data": [
        {"id": "model-of-tomorrow", "context_window": 77_000}, {"id": "mine", "context_window": 5_000},
        {"id": "claude-opus-5-20260101"},
    ]});
    let server = Server::answering(move |request| {
        assert!(request.target().starts_with("/v1/models"), "{request:?}");
        Reply::error(200, &list)
    });
    let lab = json!({"providers": {"anthropic": {"models": ["mine"]}}});
    let config = serde_json::from_value(lab).unwrap();
    let home = zot_host::home::Home::at(fixture.folder.path().join("home"));
    let (catalogue, _) = Catalogue::load(&home, &config);
    let catalogue = std::sync::Arc::new(catalogue);
    let endpoint = Endpoint::new(&server.url, None).unwrap();
    let provider = Anthropic::new("anthropic", endpoint, catalogue.clone());
    let mut config = fixture.config(Demo::new());
    config.catalogue = catalogue.clone();
    config.set_model(Resolved {
        provider: Box::new(provider),
        model: catalogue.model("anthropic", "claude-opus-5"),
    });
    let runtime = Runtime::new(config).unwrap();
    let models = runtime.models().await;
    let window = |id: &str| {
        models
            .iter()
            .find(|it| it.id == id)
            .map(|it| it.context_window)
    };
    assert_eq!(window("model-of-tomorrow"), Some(77_000));
    assert_eq!(
        window("mine"),
        Some(5_000),
        "listed only by its id in config.json"
    );
    assert_eq!(
        window("claude-opus-5-20260101"),
        None,
        "another name of a known model"
    );
    assert!(window("claude-opus-5").is_some());
    assert_eq!(window("claude-3-opus"), None, "retired");
    let model = runtime.set_model("model-of-tomorrow").await.unwrap();
    assert_eq!(model.context_window, 77_000);
    let model = runtime.set_model("not-even-listed").await.unwrap();
    assert_eq!(model.id, runtime.state().await.model);
    runtime.close().await;
}

#[tokio::test]
async fn an_unknown_model_is_rejected_and_the_error_lists_known_ones() {
    let fixture = AgentFixture::new();
    let runtime = fixture.demo();
    let error = runtime
        .set_model("gpt-5.2")
        .await
        .expect_err("belongs to another provider");
    assert_eq!(
        error.to_string(),
        "demo has no model `gpt-5.2`\nhint: known models: demo"
    );
    assert!(matches!(error, SetModelError::Unknown { .. }));
    assert_eq!(runtime.state().await.model, "demo");
    let models = runtime.models().await;
    assert_eq!(models.len(), 1);
    runtime.close().await;
}

#[tokio::test]
async fn a_busy_agent_rejects_changes() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(r#"[{"delay_ms": 60000}]"#));
    let events = runtime.prompt(Prompt::text("go")).expect("idle");
    assert_eq!(runtime.clear().await, Err(Unavailable::Busy));
    assert_eq!(runtime.set_reasoning(None).await, Err(Unavailable::Busy));
    assert_eq!(
        runtime.set_model("demo").await,
        Err(SetModelError::Unavailable(Unavailable::Busy))
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
    let fixture = AgentFixture::new().with("a", "", "mark");
    let mut config = fixture.config(Demo::new());
    config.session = Choice::New;
    let runtime = zot_host::Runtime::new(config).unwrap();
    PromptEvents::of(&runtime, "one").await;
    let (first, _) = runtime.session().await.unwrap();
    runtime.clear().await.expect("idle");
    assert_eq!(runtime.state().await.message_count, 0);
    PromptEvents::of(&runtime, "two").await;
    let (second, _) = runtime.session().await.unwrap();
    assert_ne!(first, second);
    assert_eq!(runtime.sessions().list().sessions.len(), 2);
    let received = received(&runtime, "a").await;
    let sessions: Vec<&String> = received
        .iter()
        .filter(|it| it.starts_with("session_"))
        .collect();
    assert_eq!(sessions, ["session_start", "session_end", "session_start"]);

    // Reopen the first session.
    let opened = runtime.sessions().open(&first, "demo", "demo").unwrap();
    runtime.adopt(opened).await.expect("idle");
    let transcript = runtime.messages().await;
    assert_eq!(transcript.first().unwrap().text(), "one");
    runtime.close().await;
}

#[tokio::test]
async fn clear_keeps_writing_to_an_explicit_session_file() {
    let fixture = AgentFixture::new();
    let path = fixture.folder.path().join("own.jsonl");
    let start = |prompt: &'static str, clear: bool| {
        let mut config = fixture.config(Demo::new());
        config.session = Choice::File(path.clone());
        async move {
            let runtime = zot_host::Runtime::new(config).unwrap();
            if clear {
                runtime.clear().await.expect("idle");
            }
            PromptEvents::of(&runtime, prompt).await;
            let messages = runtime.messages().await;
            runtime.close().await;
            messages
        }
    };
    start("one", false).await;
    let after = start("two", true).await;
    assert_eq!(after.len(), 2);
    let again = start("three", false).await;
    let first = again.first().unwrap().text();
    assert_eq!((first.as_str(), again.len()), ("two", 4));
    assert_eq!(
        messages(&path).unwrap().len(),
        6,
        "the file keeps the cleared messages"
    );
}
