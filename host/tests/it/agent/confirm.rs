//! Confirming each tool call with the user.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use zot_host::{Confirmed, Hooks, Prompt, provider::Demo};
use zot_protocol::{Object, Tagged};

use super::fixture::{AgentFixture, PromptEvents};

/// Hooks that give the same answer to every question, or never answer.
struct ScriptedUser {
    answer: Option<Confirmed>,
    asked: Mutex<Vec<String>>,
}

impl Hooks for ScriptedUser {
    fn confirm<'h>(
        &'h self,
        _: Option<&'h str>,
        tool: &'h str,
        args: &'h Object,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        let args = serde_json::to_string(args).unwrap();
        self.asked
            .lock()
            .expect("not poisoned")
            .push(format!("{tool} {args}"));
        match self.answer {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn with(
    fixture: &AgentFixture,
    answer: Option<Confirmed>,
) -> (zot_host::Runtime, Arc<ScriptedUser>) {
    let user = Arc::new(ScriptedUser {
        answer,
        asked: Mutex::default(),
    });
    let mut config = fixture.config(Demo::new());
    config.hooks = user.clone();
    (zot_host::Runtime::new(config).unwrap(), user)
}

const CALLS: &str = "/call bash {\"command\": \"echo ran > ran\"}\n/call say-a {}";

#[tokio::test]
async fn a_declined_call_does_not_run_and_the_model_gets_the_reason() {
    let fixture = AgentFixture::new().with("a", "tool_call", "mark");
    let (runtime, user) = with(&fixture, Some(Confirmed::No));
    let published = PromptEvents::of(&runtime, CALLS).await;
    let declined = |tool: &str| {
        (
            format!("the user declined this call to `{tool}`"),
            "blocked".to_owned(),
        )
    };
    assert_eq!(published.results(), [declined("bash"), declined("say-a")]);
    assert!(!fixture.folder.path().join("project/ran").exists());
    // The user is asked after the interceptors, about the rewritten arguments.
    let asked = user.asked.lock().expect("not poisoned").clone();
    assert!(asked[1] == r#"say-a {"text":"a"}"#, "{asked:?}");
    runtime.close().await;
}

#[tokio::test]
async fn a_confirmed_call_runs() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let (runtime, _) = with(&fixture, Some(Confirmed::Yes));
    let published = PromptEvents::of(&runtime, CALLS).await;
    assert!(
        published
            .results()
            .iter()
            .all(|(_, status)| status == "completed"),
        "{:?}",
        published.results()
    );
    assert!(fixture.folder.path().join("project/ran").exists());
    runtime.close().await;
}

#[tokio::test]
async fn an_unanswered_confirmation_does_not_block_an_abort() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let (runtime, user) = with(&fixture, None);
    let mut events = runtime.prompt(Prompt::text(CALLS)).expect("idle");
    let mut statuses = Vec::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = async {
                while user.asked.lock().expect("not poisoned").is_empty() {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            } => { runtime.cancel(); events.next().await }
        };
        let Some(event) = event else { break };
        if event.name() == "tool_result" {
            let event = serde_json::to_value(&event).unwrap();
            statuses.push(event["status"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(statuses, ["cancelled", "cancelled"]);
    runtime.close().await;
}
