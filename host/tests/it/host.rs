//! A host with real extensions: commands, tools, events, interception. Faults are tested in
//! `faults`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zot_host::HostError;
use zot_protocol::{AssistantMessageEvent, InterceptName, TurnStart, limits::Limits};

use crate::support::{HostFixture, args, bash, lenient_limits, no_args, text, until};

#[tokio::test]
async fn commands_and_tools_answer_and_report_progress() {
    let fixture = HostFixture::new();
    let stats = fixture.host.load(vec![fixture.odd("odd", &[])]).await;
    assert_eq!((stats.loaded, stats.ready, stats.errors.len()), (1, 1, 0));

    let response = fixture
        .host
        .command("SAY", "  hello there ")
        .await
        .expect("answers");
    assert_eq!(
        response.display.as_deref(),
        Some("hello there"),
        "trimmed, and case-insensitive"
    );
    let echoed = fixture
        .host
        .tool("echo", args(json!({"b": 1, "a": [1.5, null]})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&echoed), r#"{"a": [1.5, null], "b": 1}"#);

    let mut steps = Vec::new();
    let done = fixture
        .host
        .tool("progress", no_args(), |line| steps.push(line))
        .await
        .expect("answers");
    assert_eq!(
        (text(&done), steps),
        (
            "done",
            vec!["step 0".into(), "step 1".into(), "step 2".into()]
        )
    );

    assert_eq!(
        fixture.call("nope").await.unwrap_err(),
        HostError::NoSuchTool("nope".into())
    );
    assert!(
        fixture
            .log("odd")
            .contains("register_tool: bad_schema: /schema: not a JSON Schema"),
        "{}",
        fixture.log("odd")
    );
    assert!(
        fixture
            .log("odd")
            .contains("subscribe: no such event: tea_time")
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_strict_tool_is_not_called_with_invalid_args() {
    let fixture = HostFixture::new();
    fixture.host.load(vec![fixture.odd("odd", &[])]).await;
    let refused = fixture.call("strict").await.unwrap();
    assert!(refused.is_error);
    assert_eq!(
        text(&refused),
        "the arguments do not match the schema of `strict`: /city: missing"
    );
    let given = fixture
        .host
        .tool("strict", args(json!({"city": "Oslo"})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&given), "strict got Oslo");
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn interceptors_fold_in_load_order() {
    let fixture = HostFixture::new();
    fixture
        .host
        .load(vec![fixture.odd("one", &["late"]), fixture.odd("two", &[])])
        .await;
    let outcome = fixture.host.intercept(bash("ls")).await;
    assert_eq!(outcome.result, Ok(bash("ls #one #two")));
    let block = fixture
        .host
        .intercept(bash("rm -rf /"))
        .await
        .result
        .expect_err("blocked");
    assert_eq!(
        (block.by.as_str(), block.reason.as_str()),
        ("one", "one refuses")
    );
    assert!(fixture.host.intercepts(&InterceptName::AssistantMessage));
    assert!(!fixture.host.intercepts(&InterceptName::UserMessage));
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn session_start_comes_first_and_events_stay_in_order() {
    let fixture = HostFixture::new();
    let limits = Limits {
        startup: Duration::from_millis(1),
        ..lenient_limits()
    };
    let fixture = HostFixture {
        host: HostFixture::with(limits).host,
        ..fixture
    };
    fixture.host.load(vec![fixture.odd("odd", &["late"])]).await;
    fixture.host.start_session();
    until("the extension is ready", || {
        fixture.host.registry().command("say").is_some()
    })
    .await;
    for step in 1..=200 {
        fixture.host.send_event(&TurnStart::new(step).into());
        if step % 50 == 0 {
            fixture
                .host
                .intercept(bash("ls"))
                .await
                .result
                .expect("allowed");
        }
    }
    let received = fixture
        .host
        .command("say", "events")
        .await
        .expect("answers")
        .display
        .unwrap();
    let received: Vec<Value> = serde_json::from_str(&received).unwrap();
    assert_eq!(
        received[0],
        json!({"type": "event", "event": "session_start"})
    );
    let steps: Vec<u64> = received[1..]
        .iter()
        .map(|event| event["step"].as_u64().unwrap())
        .collect();
    assert_eq!(steps, (1..=200).collect::<Vec<_>>());
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn an_oversized_event_is_marked_as_truncated() {
    let fixture = HostFixture::new();
    fixture.host.load(vec![fixture.odd("odd", &[])]).await;
    fixture
        .host
        .send_event(&AssistantMessageEvent::new("é\n".repeat(2 << 20)).into());
    let received = fixture
        .host
        .command("say", "events")
        .await
        .expect("answers")
        .display
        .unwrap();
    let received: Vec<Value> = serde_json::from_str(&received).unwrap();
    assert_eq!(received[0]["truncated"], true);
    let length = received[0]["text"].as_str().unwrap().len();
    assert!((64 << 10..=256 << 10).contains(&length), "{length}");
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_crash_fails_pending_calls_immediately_with_the_exit_status() {
    let fixture = HostFixture::new();
    fixture
        .host
        .load(vec![fixture.odd("odd", &[]), fixture.odd("other", &[])])
        .await;
    let start = Instant::now();
    let (slow, crash) = tokio::join!(fixture.call("slow"), fixture.call("crash"));
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "long before the tool's deadline"
    );
    for error in [slow, crash] {
        assert_eq!(
            error.unwrap_err().to_string(),
            "odd: ended: killed by SIGSEGV"
        );
    }
    until("the crash is noted", || !fixture.notes.all().is_empty()).await;
    assert_eq!(
        fixture.notes.all(),
        ["[odd] Error: ended: killed by SIGSEGV"]
    );
    until("stderr is logged", || {
        fixture.log("odd").contains("about to crash")
    })
    .await;
    assert!(
        fixture.call("echo").await.is_ok(),
        "the other extension still works"
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn an_extension_without_ready_becomes_ready_automatically() {
    let fixture = HostFixture::with(Limits {
        auto_ready: Duration::from_millis(250),
        ..lenient_limits()
    });
    let stats = fixture
        .host
        .load(vec![fixture.odd("odd", &["no-ready"])])
        .await;
    assert_eq!(stats.ready, 1);
    // On a slow machine, the extension can become ready before all its registrations have arrived.
    // Later registrations still count.
    until("everything is registered", || {
        fixture.host.registry().tool("strict").is_some()
    })
    .await;
    assert!(fixture.call("echo").await.is_ok());
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn secrets_are_not_inherited() {
    // All tests share this environment, but only this one uses the variable.
    // SAFETY: other tests access the environment only through `std`, which takes a lock.
    unsafe { std::env::set_var("ZOTCORE_RPC_TOKEN", "canary") };
    let fixture = HostFixture::new();
    fixture.host.load(vec![fixture.odd("odd", &[])]).await;
    let seen = fixture
        .host
        .tool("env", args(json!({"name": "ZOTCORE_RPC_TOKEN"})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&seen), "(unset)");
    let path = fixture
        .host
        .tool("env", args(json!({"name": "PATH"})), |_| {})
        .await
        .expect("answers");
    assert_ne!(text(&path), "(unset)");
    fixture.host.shutdown().await;
}
