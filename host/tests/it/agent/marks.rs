//! A continued session knows how its turns and calls ended.

use zot_host::session::{Mark, export};
use zot_host::{Prompt, Runtime, provider::Demo, session::Choice};
use zot_protocol::{StopReason, ToolId, ToolStatus, rpc::Event};

use super::fixture::{AgentFixture, PromptEvents, scripted};

const SCRIPT: &str = concat!(
    r#"{"tool_call": {"id": "t1", "name": "bash", "args": {"command": "echo some; sleep 600"}}}"#,
    "\n",
    r#"{"text": "half", "error": "out of order"}"#,
    "\n",
    r#"{"text": "too long", "stop": "length"}"#,
    "\n",
    r#"{"tool_call": {"id": "t2", "name": "say-a"}}"#,
    "\n",
    r#"{"text": "done"}"#,
);

async fn abort_at_the_first_line_of_output(runtime: &Runtime) {
    let mut events = runtime.prompt(Prompt::text("begin")).unwrap();
    while let Some(event) = events.next().await {
        if matches!(event, Event::ToolProgress(_)) {
            runtime.cancel();
        }
    }
}

fn turn(stop: &StopReason, error: Option<&str>) -> Mark {
    serde_json::from_value(serde_json::json!({"what": "turn_end", "stop": stop, "error": error}))
        .unwrap()
}

fn call(id: &str, status: &ToolStatus, extension: Option<&str>) -> Mark {
    let mark = serde_json::json!({
        "what": "tool_end", "call_id": ToolId::from(id), "status": status, "extension": extension,
    });
    serde_json::from_value(mark).unwrap()
}

#[tokio::test]
async fn aborts_errors_and_truncated_answers_are_stored() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let mut config = fixture.config(scripted(SCRIPT));
    config.session = Choice::New;
    let runtime = Runtime::new(config).unwrap();
    abort_at_the_first_line_of_output(&runtime).await;
    for prompt in ["again", "more", "say"] {
        PromptEvents::of(&runtime, prompt).await;
    }
    assert_eq!(runtime.marks().await, [], "only for what is loaded");
    runtime.close().await;
    drop(runtime);

    let mut config = fixture.config(Demo::new());
    config.session = Choice::Continue;
    let runtime = Runtime::new(config).unwrap();
    let count = runtime.messages().await.len();
    assert_eq!(
        runtime.marks().await,
        [
            (3, call("t1", &ToolStatus::Cancelled, None)),
            (3, turn(&StopReason::Aborted, None)),
            (5, turn(&StopReason::Error, Some("demo: out of order"))),
            (7, turn(&StopReason::Length, None)),
            (10, call("t2", &ToolStatus::Completed, Some("a"))),
        ]
    );
    assert_eq!(count, 11);
    let (path, _) = runtime.session().await.unwrap();
    for name in ["talk.md", "talk.html"] {
        let out = fixture.folder.path().join(name);
        export(&path, &out).unwrap();
        let page = std::fs::read_to_string(&out).unwrap().replace('`', "");
        for end in ["aborted", "error: demo: out of order", "length"] {
            let line = format!("The turn ended with {end}.");
            assert!(page.contains(&line), "{name}: {line}");
        }
    }
    runtime.close().await;
}
