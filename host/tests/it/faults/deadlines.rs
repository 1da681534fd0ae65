//! Interceptors and tools that are late, have exited or were cancelled, in real processes and with
//! shortened limits. The `chain` tests cover the real limits with a paused clock.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_host::extension::fold::{Failure, Verdict};
use zot_protocol::{
    AssistantMessageIntercept, InterceptName, TurnStartIntercept, UserMessageIntercept,
    limits::Limits,
};

use crate::support::{
    FaultTest, HostFixture, SentFrames, TEST_TIMEOUT, args, bash, block_on_failure, lenient_limits,
    no_args, run_in_own_process, soak_factor, until, within,
};

#[tokio::test]
async fn a_silent_interceptor_times_out_and_its_policy_decides() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        intercept: Duration::from_millis(200),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let mut strict = fixture.odd("strict", &["mute"]);
    strict.manifest.intercept = block_on_failure(InterceptName::AssistantMessage);
    test.load(vec![strict]).await;
    let outcome = within("a chain", fixture.host.intercept(bash("ls"))).await;
    assert_eq!(outcome.result, Ok(bash("ls")), "`allow` lets it pass");
    let event = AssistantMessageIntercept::new("x").into();
    let outcome = within("a chain", fixture.host.intercept(event)).await;
    let block = outcome.result.expect_err("`block` blocks it");
    assert_eq!(block.reason, "strict failed: no answer within 200ms");
    test.finish().await;
}

/// The extension answers when the test creates a file, so the test decides whether the answer comes
/// before or after the deadline.
#[tokio::test]
async fn an_answer_counts_only_before_the_deadline() {
    run_in_own_process!();
    let block = bash("rm -rf /");
    for in_time in [true, false] {
        let sent = Arc::new(SentFrames::default());
        let deadline = if in_time {
            TEST_TIMEOUT
        } else {
            Duration::from_millis(200)
        };
        let test = FaultTest::with_host(|| {
            HostFixture::set_up(|config| {
                config.limits.intercept = deadline;
                config.limits.chain = TEST_TIMEOUT;
                config.tap = Some(Arc::<SentFrames>::clone(&sent));
            })
        });
        let fixture = &test.fixture;
        let go = fixture.home.path().join("go");
        let word = format!("answer-when={}", go.display());
        test.load(vec![fixture.odd("slow", &[&word])]).await;
        let chain = within("a chain", fixture.host.intercept(block.clone()));
        let has_been_asked = || {
            let sent = sent.to("slow");
            sent.iter().any(|frame| frame["type"] == "event_intercept")
        };
        let outcome = if in_time {
            let (outcome, ()) = tokio::join!(chain, async {
                until("the interceptor is asked", has_been_asked).await;
                fs::write(&go, "").unwrap();
            });
            outcome
        } else {
            chain.await
        };
        assert_eq!(outcome.result.is_err(), in_time, "{outcome:?}");
        fs::write(&go, "").unwrap();
        if !in_time {
            assert_eq!(outcome.result.as_ref(), Ok(&block));
            until("the late answer is dropped", || {
                fixture.log("slow").contains("no request is waiting for it")
            })
            .await;
        }
        test.finish().await;
    }
}

#[tokio::test]
async fn ten_silent_interceptors_take_no_longer_than_the_chain_deadline() {
    run_in_own_process!();
    let chain = Duration::from_millis(750);
    let test = FaultTest::new(Limits {
        intercept: Duration::from_millis(250),
        chain,
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let mut launches: Vec<_> = (0..10)
        .map(|index| fixture.odd(&format!("silent{index}"), &["mute"]))
        .collect();
    // The chain never reaches the last interceptor, which must still block its own event.
    launches[9].manifest.intercept = block_on_failure(InterceptName::AssistantMessage);
    test.load(launches).await;

    let start = Instant::now();
    let outcome = within("a chain", fixture.host.intercept(bash("ls"))).await;
    assert!(start.elapsed() >= chain);
    assert_eq!(outcome.result, Ok(bash("ls")));
    let not_reached = |verdict: &Verdict| {
        matches!(
            verdict,
            Verdict::FailedOpen(Failure::ChainTimeout(_))
                | Verdict::FailedClosed(Failure::ChainTimeout(_))
        )
    };
    let reached = outcome
        .records
        .iter()
        .take_while(|link| !not_reached(&link.verdict))
        .count();
    assert_eq!(outcome.records.len(), 10, "every interceptor is recorded");
    assert!((1..=3).contains(&reached), "{:?}", outcome.records);

    let event = AssistantMessageIntercept::new("x").into();
    let outcome = within("a chain", fixture.host.intercept(event)).await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!(block.by, "silent9");
    assert!(not_reached(&outcome.records[9].verdict));
    test.finish().await;
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_chain_fails_open() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![
        fixture.odd("one", &[]),
        fixture.odd("two", &["crash"]),
        fixture.odd("three", &[]),
    ])
    .await;
    let outcome = within("a chain", fixture.host.intercept(bash("ls"))).await;
    assert_eq!(outcome.result, Ok(bash("ls #one #three")));
    assert!(
        matches!(&outcome.records[1].verdict, Verdict::FailedOpen(Failure::Gone(why)) if why.contains("SIGSEGV"))
    );
    test.wait_for_error("two", "ended: killed by SIGSEGV").await;
    let outcome = within("a chain", fixture.host.intercept(bash("ls"))).await;
    assert_eq!(
        outcome.records.len(),
        2,
        "a crashed interceptor is not asked again"
    );
    test.finish().await;
}

#[tokio::test]
async fn a_guard_blocks_before_it_is_ready_and_after_it_exits() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        startup: Duration::from_millis(1),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let marker = fixture.home.path().join("go");
    let mut late = fixture.odd("late", &[&format!("ready-when={}", marker.display())]);
    late.manifest.intercept = block_on_failure(InterceptName::ToolCall);
    let mut dead = fixture.odd("dead", &["traceback"]);
    dead.manifest.intercept = block_on_failure(InterceptName::TurnStart);
    let mut missing = fixture.launch("missing", "/no/such/program", vec![]);
    missing.manifest.intercept = block_on_failure(InterceptName::UserMessage);
    test.load(vec![late, dead, missing]).await;

    let block = fixture.host.intercept(bash("ls")).await.result;
    let block = block.expect_err("blocked before it is ready");
    assert_eq!(block.reason, "late failed: not ready yet");
    fs::write(marker, "").unwrap();
    until("the guard is ready", || {
        fixture.host.registry().tool("echo").is_some()
    })
    .await;
    assert_eq!(
        fixture.host.intercept(bash("ls")).await.result,
        Ok(bash("ls #late"))
    );

    test.wait_for_error("dead", "ended: exit status 1").await;
    let event = TurnStartIntercept::new(1).into();
    let block = fixture.host.intercept(event).await.result;
    let block = block.expect_err("blocked after it exited");
    let why = "dead failed: ended: exit status 1";
    assert!(block.reason.starts_with(why), "{}", block.reason);

    let event = UserMessageIntercept::new("hi").into();
    let block = fixture.host.intercept(event).await.result;
    let block = block.expect_err("blocked although it never started");
    assert_eq!(block.by, "missing");

    assert!(fixture.call("crash").await.is_err());
    let block = fixture.host.intercept(bash("ls")).await.result;
    let block = block.expect_err("blocked after it crashed");
    assert_eq!(block.reason, "late failed: ended: killed by SIGSEGV");
    let event = AssistantMessageIntercept::new("hi").into();
    let outcome = fixture.host.intercept(event).await;
    assert!(outcome.result.is_ok(), "unguarded events pass");
    until("the other extension is ready", || {
        fixture.host.registry().tool("good").is_some()
    })
    .await;
    test.finish().await;
}

#[tokio::test]
async fn an_event_too_large_to_send_is_blocked() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    let outcome = fixture.host.intercept(bash(&"x".repeat(5 << 20))).await;
    let block = outcome
        .result
        .expect_err("an oversized event must not bypass a guard");
    assert_eq!(block.by, "odd");
    assert!(
        block.reason.contains("too large for a frame"),
        "{}",
        block.reason
    );
    let called = fixture.call_with("echo", json!({"text": "x".repeat(5 << 20)}));
    let error = called.await.unwrap_err().to_string();
    assert!(error.starts_with("odd: the request is "), "{error}");
    assert_eq!(
        fixture.host.intercept(bash("ls")).await.result,
        Ok(bash("ls #odd"))
    );
    test.finish().await;
}

/// Whether the abort or the reply comes first, the caller receives exactly one outcome, and the
/// next call receives its own answer.
#[tokio::test]
async fn an_abort_racing_the_reply_has_one_outcome() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    // Measure how long a call takes, so that aborts come before, during and after the reply.
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(fixture.answer("echo").await, "{}");
    }
    let usual = start.elapsed() / 20;
    let (mut answered, mut aborted) = (0, 0);
    for round in 0_u32..u32::try_from(400 * soak_factor()).unwrap() {
        let call = fixture
            .host
            .tool("echo", args(json!({"round": round})), |_| {});
        let abort = async {
            // Do not sleep here, because the runtime's timers are too coarse.
            let (start, after) = (Instant::now(), usual * (round % 40) / 20);
            while start.elapsed() < after {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            result = call => {
                let expected = format!("{{\"round\": {round}}}");
                assert_eq!(crate::support::text(&result.expect("answered")), expected);
                answered += 1;
            }
            () = abort => aborted += 1,
        }
    }
    assert!(answered > 0 && aborted > 0, "{answered} and {aborted}");
    assert_eq!(fixture.answer("echo").await, "{}");
    // A cancelled call must not stay pending, even if the extension never answers.
    let slow = fixture.host.tool("slow", no_args(), |_| {});
    assert!(
        tokio::time::timeout(Duration::from_millis(50), slow)
            .await
            .is_err()
    );
    until("the extension receives tool_cancel", || {
        let notes = fixture.notes.all();
        notes.iter().any(|note| note.contains("cancelled"))
    })
    .await;
    test.finish().await;
}
