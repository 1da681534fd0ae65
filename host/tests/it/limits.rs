//! The protocol's real limits, with in-memory pipes and a paused clock.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use zot_host::extension::{
    CallChain, RequestError,
    chain::{Interceptor, run},
    connection::{Connection, Stage},
    fold::{Failure, InterceptAnswer, Verdict},
};
use zot_protocol::{
    Intercept, InterceptName, OnFailure, ToolCallIntercept, UserMessageIntercept, limits,
};

use crate::support::{in_memory::InMemoryExtension, no_args};

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[tokio::test(start_paused = true)]
async fn a_tool_answer_after_59_9_seconds_counts() {
    let mut extension = InMemoryExtension::ready().await;
    let (result, _) = tokio::join!(extension.tool(), extension.answer_tool(seconds(59.9)));
    assert_eq!(result, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_tool_times_out_after_60_seconds_and_is_cancelled() {
    let mut extension = InMemoryExtension::ready().await;
    let (result, call) = tokio::join!(extension.tool(), extension.answer_tool(seconds(60.1)));
    assert_eq!(result, Err(RequestError::Timeout(limits::TOOL)));
    let cancel = extension.hear().await;
    assert_eq!(cancel["type"], "tool_cancel");
    assert_eq!(cancel["id"], call["id"]);
    extension.say(json!({"type": "tea_time"})).await;
    while !extension.log.has("tea_time") {
        sleep(seconds(0.01)).await;
    }
    assert!(
        extension.log.has("no request is waiting for it"),
        "the late result is logged"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_deadline_up_to_the_total_limit() {
    let mut extension = InMemoryExtension::ready().await;
    let start = Instant::now();
    let calling = tokio::spawn(extension.tool());
    let call = extension.hear().await;
    while !calling.is_finished() {
        sleep(seconds(50.0)).await;
        extension
            .say(json!({"type": "tool_progress", "id": call["id"], "text": "on and on"}))
            .await;
        assert!(start.elapsed() < seconds(700.0), "the call never times out");
    }
    let result = calling.await.expect("no panic");
    assert_eq!(result, Err(RequestError::Timeout(limits::TOOL_TOTAL)));
    assert!(start.elapsed() >= limits::TOOL_TOTAL);
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_progress_may_exceed_its_deadline() {
    let mut extension = InMemoryExtension::ready().await;
    let calling = tokio::spawn(extension.tool());
    let call = extension.hear().await;
    for _ in 0..5 {
        sleep(seconds(59.9)).await;
        extension
            .say(json!({"type": "tool_progress", "id": call["id"], "text": "still there"}))
            .await;
    }
    sleep(seconds(59.9)).await;
    extension
        .say(json!({"type": "tool_result", "id": call["id"], "content": []}))
        .await;
    assert_eq!(calling.await.expect("no panic"), Ok(5));
}

#[tokio::test(start_paused = true)]
async fn an_interactive_tool_has_no_deadline() {
    let mut extension = InMemoryExtension::ready().await;
    let connection = Arc::clone(&extension.connection);
    let chain = CallChain::new("ask_the_user");
    let (result, _) = tokio::join!(
        connection.tool(&chain, no_args(), None, |_| {}),
        extension.answer_tool(Duration::from_secs(24 * 60 * 60)),
    );
    assert!(result.is_ok(), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_times_out_after_60_seconds() {
    let extension = InMemoryExtension::ready().await;
    let start = Instant::now();
    let answer = extension.connection.command("say", "hi").await;
    assert_eq!(answer, Err(RequestError::Timeout(limits::COMMAND)));
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_missing_hello_is_noted_after_5_seconds_and_fatal_after_30() {
    let extension = InMemoryExtension::start();
    let start = Instant::now();
    sleep(seconds(4.9)).await;
    assert!(!extension.log.has("has not sent hello"));
    sleep(seconds(0.2)).await;
    assert!(extension.log.has("Info: has not sent hello after 5s"));
    let why = extension.ended().await;
    assert_eq!(why, "was stopped: no hello within 30s");
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn an_extension_becomes_ready_after_250_ms_without_a_frame() {
    let mut extension = InMemoryExtension::start();
    extension
        .say(json!({"type": "hello", "name": "played"}))
        .await;
    for name in ["a", "b", "c"] {
        sleep(seconds(0.24)).await;
        let register = json!({"type": "register_command", "name": name});
        extension.say(register).await;
    }
    sleep(seconds(0.24)).await;
    assert_eq!(*extension.connection.stage().borrow(), Stage::Registering);
    sleep(seconds(0.02)).await;
    assert_eq!(*extension.connection.stage().borrow(), Stage::Ready);
    assert_eq!(extension.connection.registered().commands.len(), 3);
}

/// An event that is half the maximum size of a frame, many times the size of a pipe buffer.
fn large_event() -> Intercept {
    UserMessageIntercept::new("x".repeat(limits::FRAME_BYTES / 2)).into()
}

#[tokio::test(start_paused = true)]
async fn a_write_stalled_for_5_seconds_disconnects_the_extension() {
    let extension = InMemoryExtension::ready().await;
    let start = Instant::now();
    // This request times out immediately, so that no request is pending.
    let asked = extension
        .connection
        .intercept(&large_event(), false, start)
        .await;
    assert!(matches!(asked, Err(Failure::Timeout(_))));
    let why = extension.ended().await;
    assert_eq!(why, "was disconnected: it read nothing for 5s");
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_write_may_stall_while_a_request_is_pending() {
    let mut extension = InMemoryExtension::ready().await;
    let calling = tokio::spawn(extension.tool());
    let call = extension.hear().await;
    let start = Instant::now();
    let asked = extension
        .connection
        .intercept(&large_event(), false, start)
        .await;
    assert!(asked.is_err());
    sleep(seconds(50.0)).await;
    assert!(!extension.connection.has_ended(), "busy with the call");
    extension
        .say(json!({"type": "tool_result", "id": call["id"], "content": []}))
        .await;
    assert_eq!(calling.await.expect("no panic"), Ok(0));
    let answered = Instant::now();
    let why = extension.ended().await;
    assert_eq!(
        answered.elapsed().as_secs(),
        5,
        "the stall timer starts with the answer"
    );
    assert_eq!(why, "was disconnected: it read nothing for 5s");
}

/// Sends a request that is never answered, without waiting for it.
async fn queue_request(extension: &InMemoryExtension, event: Intercept) {
    let connection = Arc::clone(&extension.connection);
    let far = Instant::now() + seconds(600.0);
    tokio::spawn(async move { connection.intercept(&event, false, far).await });
    tokio::task::yield_now().await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_holds_at_most_256_frames() {
    let extension = InMemoryExtension::ready().await;
    // The first frame is partly in the pipe; the others queue behind it.
    queue_request(&extension, large_event()).await;
    for _ in 1..256 {
        queue_request(&extension, bash()).await;
    }
    let asked = extension
        .connection
        .intercept(&bash(), false, Instant::now())
        .await;
    assert_eq!(asked, Err(Failure::QueueFull));
    let why = extension.ended().await;
    assert_eq!(why, "was disconnected: it is not reading its input");
}

#[tokio::test(start_paused = true)]
async fn the_queue_holds_at_most_16_mib() {
    let extension = InMemoryExtension::ready().await;
    for _ in 0..7 {
        queue_request(&extension, large_event()).await;
    }
    assert!(!extension.connection.has_ended(), "less than 16 MiB");
    let asked = extension
        .connection
        .intercept(&large_event(), false, Instant::now())
        .await;
    assert_eq!(asked, Err(Failure::QueueFull));
    let why = extension.ended().await;
    assert!(why.ends_with("it is not reading its input"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_leave_the_queue() {
    let extension = InMemoryExtension::ready().await;
    queue_request(&extension, large_event()).await;
    for _ in 0..1_000 {
        let now = Instant::now();
        let asked = extension.connection.intercept(&bash(), false, now).await;
        assert!(matches!(asked, Err(Failure::Timeout(_))), "{asked:?}");
    }
    assert!(!extension.connection.has_ended(), "the queue is empty");
}

#[tokio::test(start_paused = true)]
async fn a_frame_at_the_size_limit_is_sent_and_one_byte_more_is_not() {
    let mut extension = InMemoryExtension::ready().await;
    let around = json!({
        "type": "event_intercept", "id": "1", "event": "user_message", "text": "",
    });
    let room = limits::FRAME_BYTES - around.to_string().len();
    let event = |bytes: usize| UserMessageIntercept::new("x".repeat(bytes)).into();
    let far = Instant::now() + seconds(5.0);
    let connection = Arc::clone(&extension.connection);
    let at_limit = event(room);
    let (answer, heard) = tokio::join!(connection.intercept(&at_limit, false, far), async {
        let heard = extension.stdin.next_line().await.unwrap();
        let heard = heard.unwrap();
        let frame: Value = serde_json::from_str(&heard).unwrap();
        extension
            .say(json!({"type": "event_intercept_response", "id": frame["id"]}))
            .await;
        heard.len()
    });
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(heard, limits::FRAME_BYTES);
    let over = event(room + 1);
    let refused = extension.connection.intercept(&over, false, far).await;
    let bytes = limits::FRAME_BYTES + 1;
    assert_eq!(refused, Err(Failure::TooLarge { bytes }));
    assert!(
        !extension.connection.has_ended(),
        "only the oversized frame is rejected"
    );
}

/// An in-memory extension as an interceptor in a chain.
struct Link<'p>(&'p Connection, OnFailure);

impl Interceptor for Link<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn on_failure(&self, _: &InterceptName) -> OnFailure {
        self.1
    }

    fn deadline(&self) -> Duration {
        limits::INTERCEPT
    }

    async fn ask(&self, event: &Intercept, is_final: bool, until: Instant) -> InterceptAnswer {
        self.0.intercept(event, is_final, until).await
    }
}

fn bash() -> Intercept {
    ToolCallIntercept::new("bash", no_args()).into()
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_answer_counts_at_4_9_seconds_but_not_at_5_1() {
    for (after, counts) in [(4.9, true), (5.1, false)] {
        let mut extension = InMemoryExtension::ready().await;
        let connection = Arc::clone(&extension.connection);
        let link = Link(&connection, OnFailure::Allow);
        let answering = async {
            let asked = extension.hear().await;
            sleep(seconds(after)).await;
            let answer =
                json!({"type": "event_intercept_response", "id": asked["id"], "block": true});
            extension.say(answer).await;
        };
        let chain = run([link], bash(), limits::CHAIN);
        let (outcome, ()) = tokio::join!(chain, answering);
        assert_eq!(outcome.result.is_err(), counts, "at {after} s");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_silent_interceptors_end_the_chain_at_its_deadline() {
    for on_failure in [OnFailure::Allow, OnFailure::Block] {
        let mut silent = Vec::new();
        for _ in 0..10 {
            silent.push(InMemoryExtension::ready().await);
        }
        let start = Instant::now();
        let links = silent
            .iter()
            .map(|extension| Link(&extension.connection, on_failure));
        let outcome = run(links, bash(), limits::CHAIN).await;
        let took = start.elapsed().as_secs();
        if on_failure == OnFailure::Block {
            let block = outcome.result.expect_err("blocked");
            assert_eq!(block.reason, "played failed: no answer within 5s");
            assert_eq!(took, 5);
        } else {
            assert!(outcome.result.is_ok());
            assert_eq!(took, 15);
            let failed = |verdict: &Verdict| matches!(verdict, Verdict::FailedOpen(_));
            assert!(outcome.records.iter().all(|link| failed(&link.verdict)));
        }
    }
}

/// Sends an unknown frame and waits until it is logged, so that all earlier frames are handled.
async fn wait_until_handled(extension: &mut InMemoryExtension, word: &str) {
    extension.say(json!({"type": word})).await;
    while !extension.log.has(word) {
        sleep(seconds(0.01)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_registers_at_most_1000_commands_and_tools() {
    let mut extension = InMemoryExtension::ready().await;
    for n in 0..=limits::REGISTRATIONS {
        let name = format!("name{n}");
        extension
            .say(json!({"type": "register_command", "name": name}))
            .await;
        extension
            .say(json!({"type": "register_tool", "name": name, "schema": {}}))
            .await;
    }
    // An existing command can still be registered again.
    extension
        .say(json!({"type": "register_command", "name": "name7", "description": "again"}))
        .await;
    wait_until_handled(&mut extension, "tea_time").await;
    let registered = extension.connection.registered();
    assert_eq!(registered.commands.len(), limits::REGISTRATIONS);
    assert_eq!(registered.tools.len(), limits::REGISTRATIONS);
    assert_eq!(registered.commands[7].description, "again");
    for kind in ["register_command", "register_tool"] {
        let refused = format!("{kind}: name1000: the limit of 1000 registrations has been reached");
        assert!(extension.log.has(&refused), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_registrations_of_an_extension_fit_into_one_frame() {
    let mut extension = InMemoryExtension::ready().await;
    for n in 0..6 {
        let description = "x".repeat(1 << 20);
        let name = format!("name{n}");
        let command = json!({"type": "register_command", "name": name, "description": description});
        extension.say(command).await;
        let tool = json!({"type": "register_tool", "name": name, "schema": {}, "description": description});
        extension.say(tool).await;
    }
    wait_until_handled(&mut extension, "tea_time").await;
    let registered = extension.connection.registered();
    assert_eq!(registered.commands.len() + registered.tools.len(), 3);
    assert!(
        extension
            .log
            .has("name5: its registrations would exceed 4194304 bytes in total")
    );
    // Registering the same names with smaller frames makes room.
    for kind in ["register_command", "register_tool"] {
        let small = json!({"type": kind, "name": "name0", "schema": {}});
        extension.say(small).await;
    }
    extension
        .say(json!({"type": "register_tool", "name": "late", "schema": {}, "description": "x".repeat(1 << 20)}))
        .await;
    wait_until_handled(&mut extension, "supper_time").await;
    let registered = extension.connection.registered();
    assert!(
        registered
            .tools
            .iter()
            .any(|tool| tool.frame.name == "late")
    );
}

#[tokio::test(start_paused = true)]
async fn a_malformed_call_tool_does_not_fail_a_pending_request() {
    let mut extension = InMemoryExtension::ready().await;
    let calling = tokio::spawn(extension.tool());
    let call = extension.hear().await;
    // Each side numbers its own requests from 1, so the ids collide.
    for kind in ["call_tool", "call_tool_cancel"] {
        let malformed = json!({"type": kind, "id": call["id"], "name": 5, "args": []});
        extension.say(malformed).await;
    }
    wait_until_handled(&mut extension, "tea_time").await;
    extension
        .say(json!({"type": "tool_result", "id": call["id"], "content": []}))
        .await;
    assert_eq!(calling.await.expect("no panic"), Ok(0));
}

#[tokio::test(start_paused = true)]
async fn the_errors_capability_reports_every_rejected_frame() {
    let mut extension = InMemoryExtension::start();
    let capabilities = ["errors"];
    extension
        .say(json!({"type": "hello", "name": "played", "capabilities": capabilities}))
        .await;
    let bad = json!({"properties": 5});
    extension
        .say(json!({"type": "register_tool", "name": "bad", "schema": bad}))
        .await;
    extension
        .say(json!({"type": "notify", "level": "loud"}))
        .await;
    extension.say(json!("x".repeat(limits::FRAME_BYTES))).await;
    assert_eq!(extension.hear().await["type"], "hello_ack");
    let refused = [("register_tool", "/schema"), ("notify", "/level"), ("", "")];
    for (frame_type, pointer) in refused {
        let error = extension.hear().await;
        assert_eq!(error["type"], "error", "{error}");
        assert_eq!(error["frame_type"].as_str().unwrap_or_default(), frame_type);
        assert_eq!(error["pointer"].as_str().unwrap_or_default(), pointer);
        assert!(!error["message"].as_str().unwrap_or_default().is_empty());
    }
}
