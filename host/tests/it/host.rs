//! A host with real extensions: commands, tools, events, interception, and what happens when one misbehaves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zot_host::{HostError, extension::RequestError};
use zot_protocol::{
    AssistantMessageEvent, Content, Intercept, InterceptName, InterceptPolicies, InterceptPolicy,
    OnFailure, ToolCallIntercept, ToolResult, TurnStart, limits::Limits, rpc::ExtensionState,
};

use crate::support::{HANG, Stage, args, is_alive, no_args, patient, until};

fn text(result: &ToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text(text)] => &text.text,
        other => panic!("{other:?}"),
    }
}

async fn call(stage: &Stage, tool: &str) -> Result<ToolResult, HostError> {
    let calling = stage.host.tool(tool, no_args(), |_| {});
    tokio::time::timeout(HANG, calling)
        .await
        .expect("does not hang")
}

fn bash(command: &str) -> Intercept {
    ToolCallIntercept::new("bash", args(json!({"command": command}))).into()
}

fn blocks(event: InterceptName) -> InterceptPolicies {
    InterceptPolicies([(event, InterceptPolicy::new(OnFailure::Block))].into())
}

#[tokio::test]
async fn commands_tools_and_progress() {
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
        "trimmed, and found in any case"
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
        call(&stage, "nope").await.unwrap_err(),
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
async fn a_strict_tool_is_not_called_with_arguments_that_do_not_fit() {
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let refused = call(&stage, "strict").await.expect("a result");
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
async fn names_are_shared_in_load_order_and_the_next_one_rises() {
    let stage = Stage::new();
    stage
        .host
        .load(vec![stage.odd("one", &["late"]), stage.odd("two", &[])])
        .await;
    let registry = stage.host.registry();
    assert_eq!(
        registry.tool("echo").expect("there").extension,
        "one",
        "though it was ready later"
    );
    let lost = registry
        .shadowed()
        .iter()
        .filter(|lost| lost.extension == "two" && lost.by.as_deref() == Some("one"));
    assert_eq!(
        lost.count(),
        registry.tools().len() + registry.commands().len()
    );

    assert!(call(&stage, "crash").await.is_err());
    until("the next one rises", || {
        stage
            .host
            .registry()
            .tool("echo")
            .is_some_and(|tool| tool.extension == "two")
    })
    .await;
    assert!(call(&stage, "echo").await.is_ok());
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
async fn session_start_is_the_first_event_of_each_and_order_is_kept() {
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
    until("it joins", || {
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
async fn an_event_too_large_is_cut_and_says_so() {
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
async fn a_crash_fails_what_is_pending_at_once_with_its_status() {
    let stage = Stage::new();
    stage
        .host
        .load(vec![stage.odd("odd", &[]), stage.odd("other", &[])])
        .await;
    let start = Instant::now();
    let (slow, crash) = tokio::join!(call(&stage, "slow"), call(&stage, "crash"));
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "long before the tool's deadline"
    );
    for error in [slow, crash] {
        assert_eq!(
            error.unwrap_err().to_string(),
            "odd: odd ended: killed by SIGSEGV"
        );
    }
    until("it is noted", || !stage.notes.all().is_empty()).await;
    assert_eq!(
        stage.notes.all(),
        ["[odd] Error: odd ended: killed by SIGSEGV"]
    );
    until("its last words are logged", || {
        stage.log("odd").contains("about to crash")
    })
    .await;
    assert!(call(&stage, "echo").await.is_ok(), "the other one goes on");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_wrong_reply_fails_its_call_at_once_and_the_next_works() {
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let error = call(&stage, "wrong").await.unwrap_err().to_string();
    assert_eq!(
        error,
        r#"odd: its answer was refused: tool_result: /content/0/type: "txt" is not one of "text", "image""#
    );
    let error = call(&stage, "long").await.unwrap_err();
    assert!(
        matches!(
            &error,
            HostError::Extension {
                error: RequestError::LineTooLong(_),
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        text(&call(&stage, "garbage").await.expect("answers")),
        "after garbage"
    );
    assert_eq!(
        text(&call(&stage, "twice").await.expect("answers")),
        "first"
    );
    assert!(call(&stage, "echo").await.is_ok());
    let log = stage.log("odd");
    assert_eq!(log.matches("nobody waits for it").count(), 2, "{log}");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn garbage_without_end_disconnects() {
    let limits = Limits {
        garbage_lines: 100,
        ..patient()
    };
    let stage = Stage::with(limits);
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let error = stage
        .host
        .tool("garbage", args(json!({"lines": 100_000})), |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "odd: odd was disconnected: 100 lines in a row are not JSON"
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_does_not_answer_times_out_and_is_told() {
    let limits = Limits {
        tool: Duration::from_millis(200),
        ..patient()
    };
    let stage = Stage::with(limits);
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let error = call(&stage, "slow").await.unwrap_err();
    assert!(
        matches!(
            &error,
            HostError::Extension {
                error: RequestError::Timeout(_),
                ..
            }
        ),
        "{error}"
    );
    until("it is told", || {
        stage
            .notes
            .all()
            .iter()
            .any(|note| note.contains("cancelled"))
    })
    .await;
    assert!(call(&stage, "echo").await.is_ok());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn starts_that_fail_say_why() {
    let limits = Limits {
        hello: Duration::from_secs(5),
        ..patient()
    };
    let stage = Stage::with(limits);
    let launches = vec![
        stage.launch("missing", "/no/such/program", vec![]),
        stage.odd("quits", &["exit-0"]),
        stage.odd("raises", &["traceback"]),
        stage.odd("silent", &["silent"]),
        stage.odd("slowly", &["hello-slowly"]),
        stage.odd("eager", &["ready-first"]),
        stage.odd("good", &["banner", "hello-twice"]),
    ];
    let stats = stage.host.load(launches).await;
    let said: Vec<String> = stats
        .errors
        .iter()
        .map(|error| format!("{}: {}", error.extension, error.reason))
        .collect();
    assert_eq!(said.len(), 6, "{said:#?}");
    assert!(
        said[0].starts_with("missing: ") && said[0].contains("/no/such/program"),
        "{}",
        said[0]
    );
    assert_eq!(said[1], "quits: quits ended: exit status 0 before hello");
    assert_eq!(
        said[2],
        "raises: raises ended: exit status 1 before hello: ValueError: no such luck"
    );
    assert_eq!(said[3], "silent: silent was ended: no hello within 5s");
    assert_eq!(said[4], "slowly: slowly was ended: no hello within 5s");
    assert_eq!(
        said[5],
        r#"eager: eager was ended: its first frame is "ready", not "hello""#
    );
    assert_eq!(stats.ready, 1);
    assert!(stage.log("good").contains("ignored a second hello"));
    assert!(call(&stage, "echo").await.is_ok());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn one_that_never_says_ready_is_taken_for_ready() {
    let stage = Stage::new();
    let stats = stage.host.load(vec![stage.odd("odd", &["no-ready"])]).await;
    assert_eq!(stats.ready, 1);
    assert!(call(&stage, "echo").await.is_ok());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_guard_guards_from_its_start_to_its_end() {
    let stage = Stage::new();
    let mut dead = stage.odd("dead", &["traceback"]);
    dead.manifest.intercept = blocks(InterceptName::TurnStart);
    let mut missing = stage.launch("missing", "/no/such/program", vec![]);
    missing.manifest.intercept = blocks(InterceptName::UserMessage);
    stage.host.load(vec![dead, missing]).await;
    let event = zot_protocol::TurnStartIntercept::new(1).into();
    let block = stage
        .host
        .intercept(event)
        .await
        .result
        .expect_err("refused, not waved through");
    assert!(
        block
            .reason
            .starts_with("dead could not be asked: dead ended: exit status 1"),
        "{}",
        block.reason
    );
    let event = zot_protocol::UserMessageIntercept::new("hi").into();
    let block = stage
        .host
        .intercept(event)
        .await
        .result
        .expect_err("refused, though it never started");
    assert_eq!(block.by, "missing");
    assert!(
        stage.host.intercept(bash("ls")).await.result.is_ok(),
        "what it does not guard goes on"
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_silent_interceptor_is_waited_for_no_longer_than_its_deadline() {
    let limits = Limits {
        intercept: Duration::from_millis(200),
        ..patient()
    };
    let stage = Stage::with(limits);
    let mut strict = stage.odd("strict", &["mute"]);
    strict.manifest.intercept = blocks(InterceptName::AssistantMessage);
    stage.host.load(vec![strict]).await;
    assert!(
        stage.host.intercept(bash("ls")).await.result.is_ok(),
        "under allow it goes on"
    );
    let event = zot_protocol::AssistantMessageIntercept::new("x").into();
    assert!(
        stage.host.intercept(event).await.result.is_err(),
        "under block it does not"
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn one_that_does_not_read_is_disconnected_and_the_others_are_served() {
    let limits = Limits {
        write_stall: Duration::from_secs(2),
        ..patient()
    };
    let stage = Stage::with(limits);
    stage
        .host
        .load(vec![stage.odd("deaf", &["deaf"]), stage.odd("good", &[])])
        .await;
    for step in 0..20 {
        stage
            .host
            .tell(&AssistantMessageEvent::new(format!("{step}{}", "x".repeat(100_000))).into());
    }
    until("it is noticed", || {
        stage
            .host
            .extensions()
            .iter()
            .any(|info| info.name == "deaf" && info.state == ExtensionState::Failed)
    })
    .await;
    let error = stage.host.extensions()[0].error.clone().expect("a reason");
    assert_eq!(error, "deaf was disconnected: it read nothing for 2s");
    call(&stage, "echo").await.expect("the other one is served");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_closed_stdout_ends_it() {
    let stage = Stage::new();
    stage
        .host
        .load(vec![stage.odd("odd", &["close-stdout"])])
        .await;
    until("it is noticed", || {
        stage.host.extensions()[0].state == ExtensionState::Failed
    })
    .await;
    assert_eq!(
        stage.host.extensions()[0].error.as_deref(),
        Some("odd closed its standard output")
    );
    stage.host.shutdown().await;
}

#[tokio::test]
async fn nothing_outlives_a_shutdown_and_stubborn_ones_end_side_by_side() {
    let limits = Limits {
        shutdown_grace: Duration::from_millis(500),
        term_grace: Duration::from_secs(2),
        ..patient()
    };
    let stage = Stage::with(limits);
    let names: Vec<String> = (0..8).map(|index| format!("stubborn{index}")).collect();
    stage
        .host
        .load(
            names
                .iter()
                .map(|name| stage.odd(name, &["stubborn"]))
                .collect(),
        )
        .await;
    let pid = text(&call(&stage, "pid").await.expect("answers")).to_owned();
    let grandchild = text(&call(&stage, "grandchild").await.expect("answers")).to_owned();
    assert!(is_alive(&pid) && is_alive(&grandchild));
    stage.host.shutdown().await;
    assert!(!is_alive(&pid));
    assert!(
        !is_alive(&grandchild),
        "not even one in a session of its own"
    );
    assert!(
        stage.notes.all().iter().any(|note| note.ends_with("TERM")),
        "asked before it is killed"
    );
    assert!(stage.host.extensions().is_empty());
}

#[tokio::test]
async fn a_reload_stops_first_and_swaps_once() {
    let stage = Stage::new();
    stage.host.load(vec![stage.odd("odd", &[])]).await;
    let before = text(&call(&stage, "pid").await.expect("answers")).to_owned();
    let mut changes = stage.host.changes();
    changes.mark_unchanged();
    let reload = stage.host.load(vec![
        stage.odd("odd", &[]),
        stage.launch("broken", "/no/such", vec![]),
    ]);
    // What is asked in between waits for the new set.
    let (stats, during) = tokio::join!(reload, async {
        tokio::task::yield_now().await;
        call(&stage, "pid").await
    });
    assert_eq!(
        (stats.stopped, stats.loaded, stats.ready, stats.errors.len()),
        (1, 1, 1, 1)
    );
    let after = text(&during.expect("answered by the new one")).to_owned();
    assert_ne!(before, after);
    assert!(!is_alive(&before));
    stage.host.shutdown().await;
}

#[tokio::test]
async fn secrets_are_not_inherited() {
    // The environment of this process is shared by all tests; the variable means nothing to the others.
    // SAFETY: nothing else in these tests reads or writes the environment by hand.
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
