//! Confirming each tool call with the user.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use serde_json::json;
use zot_host::{
    ApprovalRequest, Confirmed, Hooks, Preview, Prompt,
    approval::{Approvals, ConfirmMode},
    provider::Demo,
};
use zot_protocol::{ApprovalAction, ApprovalRule, Tagged};

use super::fixture::{AgentFixture, PromptEvents};

/// Hooks that give the same answer to every question, or never answer.
struct ScriptedUser {
    answer: Option<Confirmed>,
    asked: Mutex<Vec<String>>,
}

impl Hooks for ScriptedUser {
    fn confirm<'h>(
        &'h self,
        request: ApprovalRequest<'h>,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        let args = serde_json::to_string(request.call.args).unwrap();
        let by = request
            .call
            .caller
            .map_or(String::new(), |by| format!("{by}: "));
        let preview = match request.preview {
            Some(Preview::Diff(diff)) => format!("\n{diff}"),
            Some(Preview::Unavailable(why)) => format!("\n({why})"),
            _ => String::new(),
        };
        let asked = format!("{by}{} {args}{preview}", request.call.tool);
        self.asked.lock().expect("not poisoned").push(asked);
        match self.answer {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn with(
    fixture: &AgentFixture,
    answer: Option<Confirmed>,
    approvals: Option<Approvals>,
) -> (zot_host::Runtime, Arc<ScriptedUser>) {
    let user = Arc::new(ScriptedUser {
        answer,
        asked: Mutex::default(),
    });
    let mut config = fixture.config(Demo::new());
    config.hooks = user.clone();
    if let Some(approvals) = approvals {
        config.approvals = Arc::new(approvals);
    }
    (zot_host::Runtime::new(config).unwrap(), user)
}

const CALLS: &str = "/call bash {\"command\": \"echo ran > ran\"}\n/call say-a {}";

#[tokio::test]
async fn a_declined_call_does_not_run_and_the_model_gets_the_reason() {
    let fixture = AgentFixture::new().with("a", "tool_call", "mark");
    let (runtime, user) = with(&fixture, Some(Confirmed::No), None);
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
    let (runtime, _) = with(&fixture, Some(Confirmed::Yes), None);
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
    let (runtime, user) = with(&fixture, None, None);
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

fn rule(rule: &serde_json::Value) -> ApprovalRule {
    serde_json::from_value(rule.clone()).unwrap()
}

/// Runs `calls` under these rules. Returns their results, and what the user was asked.
async fn with_rules(
    fixture: &AgentFixture,
    answer: Confirmed,
    rules: &[serde_json::Value],
    calls: &str,
) -> (Vec<(String, String)>, Vec<String>) {
    let approvals = Approvals::new(rules.iter().map(rule).collect(), ConfirmMode::Rules);
    let (runtime, user) = with(fixture, Some(answer), Some(approvals));
    let published = PromptEvents::of(&runtime, calls).await;
    runtime.close().await;
    let asked = user.asked.lock().expect("not poisoned").clone();
    (published.results(), asked)
}

#[tokio::test]
async fn rules_allow_ask_and_deny() {
    let fixture = AgentFixture::new();
    let rules = [
        json!({"tool": "bash", "command": "touch asked*", "do": "ask"}),
        json!({"tool": "bash", "command": "touch denied*", "do": "deny"}),
    ];
    let call = |command: &str| format!("/call bash {}", json!({"command": command}));
    let calls = ["touch free", "touch asked", "touch free2; touch denied"]
        .map(call)
        .join("\n");
    let (results, asked) = with_rules(&fixture, Confirmed::Yes, &rules, &calls).await;
    let statuses: Vec<_> = results.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(
        statuses,
        ["completed", "completed", "blocked"],
        "{results:?}"
    );
    assert_eq!(asked, [r#"bash {"command":"touch asked"}"#]);
    let why = r#"has the rule {"tool":"bash","command":"touch denied*","do":"deny"}"#;
    assert!(results[2].0.contains(why), "{results:?}");
    let made = |name: &str| fixture.folder.path().join("project").join(name).exists();
    assert!(made("free") && made("asked") && !made("denied") && !made("free2"));
}

#[tokio::test]
async fn rules_apply_to_the_arguments_that_the_interceptors_left() {
    let fixture = AgentFixture::new().with("a", "tool_call", "mark");
    let rules = [json!({"tool": "say-a", "args": {"text": "a"}, "do": "deny"})];
    let (results, _) = with_rules(&fixture, Confirmed::Yes, &rules, "/call say-a {}").await;
    assert_eq!(results[0].1, "blocked", "{results:?}");
}

#[tokio::test]
async fn an_ask_rule_refuses_the_call_if_nobody_can_be_asked() {
    let fixture = AgentFixture::new();
    let mut config = fixture.config(Demo::new());
    let ask = ApprovalRule::new("bash", ApprovalAction::Ask);
    let approvals = Approvals::new(vec![ask], ConfirmMode::Rules);
    config.approvals = Arc::new(approvals);
    let runtime = zot_host::Runtime::new(config).unwrap();
    let calls = "/call bash {\"command\": \"touch x\"}\n/call read {\"path\": \".\"}";
    let results = PromptEvents::of(&runtime, calls).await.results();
    runtime.close().await;
    assert_eq!(results[0].1, "blocked");
    assert!(
        results[0]
            .0
            .contains(r#"the rule {"tool":"bash","do":"ask"}"#),
        "{results:?}"
    );
    assert!(results[0].0.contains("pass --yolo"), "{results:?}");
    assert_eq!(results[1].1, "completed");
    assert!(!fixture.folder.path().join("project/x").exists());
}

#[tokio::test]
async fn a_question_about_a_file_shows_what_would_change() {
    let fixture = AgentFixture::new();
    let project = fixture.folder.path().join("project");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("a.txt"), "one\ntwo\n").unwrap();
    let rules = [json!({"tool": "*", "do": "ask"})];
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "zwei"}]});
    let calls = [
        format!("/call edit {edit}"),
        format!(
            "/call write {}",
            json!({"path": "new/b.txt", "content": "b\n"})
        ),
        format!("/call read {}", json!({"path": "a.txt"})),
    ];
    let (results, asked) = with_rules(&fixture, Confirmed::No, &rules, &calls.join("\n")).await;
    assert!(
        results.iter().all(|(_, status)| status == "blocked"),
        "{results:?}"
    );
    assert!(
        asked[0].ends_with("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"),
        "{asked:?}"
    );
    assert!(asked[1].ends_with("@@ -0,0 +1 @@\n+b\n"), "{asked:?}");
    assert_eq!(asked[2], r#"read {"path":"a.txt"}"#);
    // A preview changes nothing.
    assert_eq!(
        std::fs::read_to_string(project.join("a.txt")).unwrap(),
        "one\ntwo\n"
    );
    assert!(!project.join("new").exists());
}
