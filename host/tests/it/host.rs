//! A host with real extensions: commands, tools, events, interception. Faults are tested in
//! `faults`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zot_host::HostError;
use zot_protocol::{AssistantMessageEvent, InterceptName, TurnStart, limits::Limits};

use crate::support::{Stage, args, bash, no_args, patient, text, until};

#[tokio::test]
async fn commands_and_tools_answer_and_report_progress() {
    let stage = Stage::new();
    let stats = stage.host.load(vec![stage.odd("odd", &[])]).await;
    assert_eq!((stats.loaded, stats.ready, stats.errors.len()), (1, 1, 0));

    let response = stage
        .host
        .command("SAY", "  hello there ")
        .await
        .expect("answers");
    assert_eq!(
        response.display.as_deref(),
        Some("hello there"),
        "trimmed, and case-insensitive"
    );
    let echoed = stage
        .host
        .tool("echo", args(json!({"b": 1, "a": [1.5, null]})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&echoed), r#"{"a": [1.5, null], "b": 1}"#);

    let mut steps = Vec::new();
    let done = stage
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
        stage.call("nope").await.unwrap_err(),
        HostError::NoSuchTool("nope".into())
    );
    assert!(
        stage
            .log("odd")
            .contains("register_tool: bad_schema: /schema: not a JSON Schema"),
        "{}",
        stage.log("odd")
    );
    assert!(
        stage
            .log("odd")
            .contains("subscribe: no such event: tea_time")
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_strict_tool_is_not_called_with_invalid_args() {
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let refused = stage.call("strict").await.expect("a result");
    assert!(refused.is_error);
    assert_eq!(
        text(&refused),
        "the arguments do not fit the schema of `strict`: /city: missing"
    );
    let given = stage
        .host
        .tool("strict", args(json!({"city": "Oslo"})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&given), "strict got Oslo");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn interceptors_fold_in_load_order() {
    let stage = Stage::new();
    stage
        .host
        .load(vec![stage.odd("one", &["late"]), stage.odd("two", &[])])
        .await;
    let outcome = stage.host.intercept(bash("ls")).await;
    assert_eq!(outcome.result, Ok(bash("ls #one #two")));
    let block = stage
        .host
        .intercept(bash("rm -rf /"))
        .await
        .result
        .expect_err("blocked");
    assert_eq!(
        (block.by.as_str(), block.reason.as_str()),
        ("one", "one refuses")
    );
    assert!(stage.host.intercepts(&InterceptName::AssistantMessage));
    assert!(!stage.host.intercepts(&InterceptName::UserMessage));
    stage.host.shutdown().await;
}

#[tokio::test]
async fn session_start_comes_first_and_events_stay_in_order() {
    let stage = Stage::new();
    let limits = Limits {
        startup: Duration::from_millis(1),
        ..patient()
    };
    let stage = Stage {
        host: Stage::with(limits).host,
        ..stage
    };
    stage.host.load(vec![stage.odd("odd", &["late"])]).await;
    stage.host.start_session();
    until("the extension is ready", || {
        stage.host.registry().command("say").is_some()
    })
    .await;
    for step in 1..=200 {
        stage.host.tell(&TurnStart::new(step).into());
        if step % 50 == 0 {
            stage
                .host
                .intercept(bash("ls"))
                .await
                .result
                .expect("allowed");
        }
    }
    let told = stage
        .host
        .command("say", "events")
        .await
        .expect("answers")
        .display
        .expect("a text");
    let told: Vec<Value> = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told[0], json!({"type": "event", "event": "session_start"}));
    let steps: Vec<u64> = told[1..]
        .iter()
        .map(|event| event["step"].as_u64().expect("a step"))
        .collect();
    assert_eq!(steps, (1..=200).collect::<Vec<_>>());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn an_oversized_event_is_marked_as_truncated() {
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    stage
        .host
        .tell(&AssistantMessageEvent::new("é\n".repeat(2 << 20)).into());
    let told = stage
        .host
        .command("say", "events")
        .await
        .expect("answers")
        .display
        .expect("a text");
    let told: Vec<Value> = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told[0]["truncated"], true);
    let length = told[0]["text"].as_str().expect("a text").len();
    assert!((64 << 10..=256 << 10).contains(&length), "{length}");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_crash_fails_pending_calls_at_once_with_the_exit_status() {
    let stage = Stage::new();
    stage
        .host
        .load(vec![stage.odd("odd", &[]), stage.odd("other", &[])])
        .await;
    let start = Instant::now();
    let (slow, crash) = tokio::join!(stage.call("slow"), stage.call("crash"));
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
    until("the crash is noted", || !stage.notes.all().is_empty()).await;
    assert_eq!(stage.notes.all(), ["[odd] Error: ended: killed by SIGSEGV"]);
    until("stderr is logged", || {
        stage.log("odd").contains("about to crash")
    })
    .await;
    assert!(
        stage.call("echo").await.is_ok(),
        "the other extension still works"
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn an_extension_without_ready_becomes_ready_automatically() {
    let stage = Stage::with(Limits {
        auto_ready: Duration::from_millis(250),
        ..patient()
    });
    let stats = stage.host.load(vec![stage.odd("odd", &["no-ready"])]).await;
    assert_eq!(stats.ready, 1);
    // On a slow machine it may become ready before all registrations arrived. Later ones still
    // count.
    until("everything is registered", || {
        stage.host.registry().tool("strict").is_some()
    })
    .await;
    assert!(stage.call("echo").await.is_ok());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn secrets_are_not_inherited() {
    // All tests share this environment, but only this one uses the variable.
    // SAFETY: no other test reads or writes the environment directly.
    unsafe { std::env::set_var("ZOTCORE_RPC_TOKEN", "canary") };
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let seen = stage
        .host
        .tool("env", args(json!({"name": "ZOTCORE_RPC_TOKEN"})), |_| {})
        .await
        .expect("answers");
    assert_eq!(text(&seen), "(unset)");
    let path = stage
        .host
        .tool("env", args(json!({"name": "PATH"})), |_| {})
        .await
        .expect("answers");
    assert_ne!(text(&path), "(unset)");
    stage.host.shutdown().await;
}
