//! Calls to read-only tools run in parallel, but otherwise behave as if they ran in order.

use std::{
    fs,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::sync::Barrier;
use zot_host::{ApprovalRequest, Confirmed, Hooks, Runtime, message::Block, provider::Demo};

use super::fixture::{AgentFixture, PromptEvents};
use crate::support::within;

/// Confirms every call, but a `read` only when enough of them are waiting at the same time.
struct Together {
    barrier: Barrier,
    most: AtomicUsize,
    open: AtomicUsize,
}

impl Hooks for Together {
    fn confirm<'h>(
        &'h self,
        request: ApprovalRequest<'h>,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        Box::pin(async move {
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(open, Ordering::SeqCst);
            if request.call.tool == "read" {
                self.barrier.wait().await;
            }
            self.open.fetch_sub(1, Ordering::SeqCst);
            Confirmed::Yes
        })
    }
}

fn start(fixture: &AgentFixture, together: usize) -> (Runtime, Arc<Together>) {
    let hooks = Arc::new(Together {
        barrier: Barrier::new(together),
        most: AtomicUsize::new(0),
        open: AtomicUsize::new(0),
    });
    let mut config = fixture.config(Demo::new());
    config.hooks = hooks.clone();
    for name in ["a", "b", "c"] {
        fs::write(config.cwd.join(name), format!("{name}\n")).unwrap();
    }
    (Runtime::new(config).unwrap(), hooks)
}

const READS: &str =
    "/call read {\"path\":\"a\"}\n/call read {\"path\":\"b\"}\n/call read {\"path\":\"c\"}";

#[tokio::test]
async fn reads_run_together_and_their_results_are_in_order() {
    let fixture = AgentFixture::new();
    let (runtime, _) = start(&fixture, 3);
    let published = within("the reads", PromptEvents::of(&runtime, READS)).await;
    let texts: Vec<String> = published
        .results()
        .into_iter()
        .map(|(text, _)| text)
        .collect();
    assert_eq!(texts, ["     1\ta\n", "     1\tb\n", "     1\tc\n"]);
    let messages = runtime.messages().await;
    let blocks = || messages.iter().flat_map(|it| &it.content);
    let calls: Vec<_> = blocks()
        .filter_map(|block| match block {
            Block::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect();
    let results: Vec<_> = blocks()
        .filter_map(|block| match block {
            Block::ToolResult { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!((calls.len(), calls), (3, results));
    runtime.close().await;
}

#[tokio::test]
async fn a_call_that_changes_something_runs_alone() {
    let fixture = AgentFixture::new();
    let (runtime, hooks) = start(&fixture, 1);
    let calls = "/call read {\"path\":\"a\"}\n/call write {\"path\":\"a\",\"content\":\"new\\n\"}\n/call read {\"path\":\"a\"}";
    let published = PromptEvents::of(&runtime, calls).await;
    let results = published.results();
    assert_eq!(results[0].0, "     1\ta\n");
    assert_eq!(results[2].0, "     1\tnew\n");
    assert_eq!(hooks.most.load(Ordering::SeqCst), 1);
    runtime.close().await;
}

/// An extension that counts how often it is asked again before it has answered.
const ASKED_ONE_BY_ONE: &str = r#"
import json, os, select, sys

def emit(**frame):
    print(json.dumps(frame), flush=True)

buffer = b""
def lines():
    global buffer
    while True:
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            yield json.loads(line)
        more = os.read(0, 65536)
        if not more:
            return
        buffer += more

overlaps = 0
emit(type="hello", name="watch", capabilities=["commands"])
emit(type="register_command", name="overlaps")
emit(type="subscribe", intercept=["tool_call", "tool_result"])
emit(type="ready")
for frame in lines():
    if frame["type"] == "event_intercept":
        waiting = b"event_intercept" in buffer or select.select([0], [], [], 0.1)[0]
        if waiting:
            buffer += os.read(0, 65536)
            overlaps += b"event_intercept" in buffer
        emit(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "command_invoked":
        emit(type="command_response", id=frame["id"], action="display", display=str(overlaps))
    elif frame["type"] == "shutdown":
        break
"#;

#[tokio::test]
async fn interceptors_are_asked_about_parallel_calls_one_at_a_time() {
    let mut fixture = AgentFixture::new();
    let manifest = json!({"name": "watch", "exec": "python3", "args": ["-c", ASKED_ONE_BY_ONE]});
    fixture.add("watch", &manifest);
    let (runtime, _) = start(&fixture, 3);
    let published = within("the reads", PromptEvents::of(&runtime, READS)).await;
    assert_eq!(published.results().len(), 3);
    let answer = runtime.host().command("overlaps", "").await.unwrap();
    assert_eq!(answer.display.as_deref(), Some("0"));
    runtime.close().await;
}

#[tokio::test]
async fn an_abort_gives_every_parallel_call_one_result() {
    let fixture = AgentFixture::new();
    let (runtime, _) = start(&fixture, 4);
    let mut events = runtime.prompt(zot_host::Prompt::text(READS)).unwrap();
    let mut results = 0;
    let reading = async {
        while let Some(event) = events.next().await {
            match event {
                zot_protocol::rpc::Event::TurnEnd(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    runtime.cancel();
                }
                zot_protocol::rpc::Event::ToolResult(result) => {
                    results += 1;
                    assert!(result.is_error);
                }
                _ => {}
            }
        }
    };
    within("the end", reading).await;
    assert_eq!(results, 3);
    runtime.close().await;
}
