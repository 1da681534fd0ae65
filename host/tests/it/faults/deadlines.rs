//! Interceptors and tools that are late, have exited or were cancelled, in real processes and with
//! shortened limits. The `chain` tests cover the real limits on paused time.

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
    HANG, Said, Stage, Trial, alone, args, bash, blocks, no_args, patient, soak, until, within,
};

#[tokio::test]
async fn a_silent_interceptor_times_out_and_its_policy_decides() {
    alone!();
    let trial = Trial::begin(Limits {
        intercept: Duration::from_millis(200),
        ..patient()
    });
    let stage = &trial.stage;
    let mut strict = stage.odd("strict", &["mute"]);
    strict.manifest.intercept = blocks(InterceptName::AssistantMessage);
    trial.load(vec![strict]).await;
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
    assert_eq!(outcome.result, Ok(bash("ls")), "`allow` lets it pass");
    let event = AssistantMessageIntercept::new("x").into();
    let outcome = within("a chain", stage.host.intercept(event)).await;
    let block = outcome.result.expect_err("`block` blocks it");
    assert_eq!(
        block.reason,
        "strict could not be asked: no answer within 200ms"
    );
    trial.hold().await;
}

/// The extension answers when the test creates a file, so both sides of the deadline are
/// deterministic.
#[tokio::test]
async fn an_answer_counts_only_before_the_deadline() {
    alone!();
    let block = bash("rm -rf /");
    for in_time in [true, false] {
        let said = Arc::new(Said::default());
        let deadline = if in_time {
            HANG
        } else {
            Duration::from_millis(200)
        };
        let trial = Trial::on(|| {
            Stage::set_up(|config| {
                config.limits.intercept = deadline;
                config.limits.chain = HANG;
                config.tap = Some(Arc::<Said>::clone(&said));
            })
        });
        let stage = &trial.stage;
        let go = stage.home.path().join("go");
        let word = format!("answer-when={}", go.display());
        trial.load(vec![stage.odd("slow", &[&word])]).await;
        let chain = within("a chain", stage.host.intercept(block.clone()));
        let has_been_asked = || {
            let said = said.to("slow");
            said.iter().any(|frame| frame["type"] == "event_intercept")
        };
        let outcome = if in_time {
            let (outcome, ()) = tokio::join!(chain, async {
                until("the interceptor is asked", has_been_asked).await;
                fs::write(&go, "").expect("written");
            });
            outcome
        } else {
            chain.await
        };
        assert_eq!(outcome.result.is_err(), in_time, "{outcome:?}");
        fs::write(&go, "").expect("written");
        if !in_time {
            assert_eq!(outcome.result.as_ref(), Ok(&block));
            until("the late answer is dropped", || {
                stage.log("slow").contains("nobody waits for it")
            })
            .await;
        }
        trial.hold().await;
    }
}

#[tokio::test]
async fn ten_silent_interceptors_take_no_longer_than_the_chain_deadline() {
    alone!();
    let chain = Duration::from_millis(750);
    let trial = Trial::begin(Limits {
        intercept: Duration::from_millis(250),
        chain,
        ..patient()
    });
    let stage = &trial.stage;
    let mut launches: Vec<_> = (0..10)
        .map(|index| stage.odd(&format!("silent{index}"), &["mute"]))
        .collect();
    // The chain never reaches the last one, which must still guard its event.
    launches[9].manifest.intercept = blocks(InterceptName::AssistantMessage);
    trial.load(launches).await;

    let start = Instant::now();
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
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
        .links
        .iter()
        .take_while(|link| !not_reached(&link.verdict))
        .count();
    assert_eq!(outcome.links.len(), 10, "every interceptor is recorded");
    assert!((1..=3).contains(&reached), "{:?}", outcome.links);

    let event = AssistantMessageIntercept::new("x").into();
    let outcome = within("a chain", stage.host.intercept(event)).await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!(block.by, "silent9");
    assert!(not_reached(&outcome.links[9].verdict));
    trial.hold().await;
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_chain_fails_open() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial
        .load(vec![
            stage.odd("one", &[]),
            stage.odd("two", &["crash"]),
            stage.odd("three", &[]),
        ])
        .await;
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
    assert_eq!(outcome.result, Ok(bash("ls #one #three")));
    assert!(
        matches!(&outcome.links[1].verdict, Verdict::FailedOpen(Failure::Gone(why)) if why.contains("SIGSEGV"))
    );
    trial
        .wait_for_error("two", "ended: killed by SIGSEGV")
        .await;
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
    assert_eq!(
        outcome.links.len(),
        2,
        "a crashed interceptor is not asked again"
    );
    trial.hold().await;
}

#[tokio::test]
async fn a_guard_blocks_before_it_is_ready_and_after_it_exits() {
    alone!();
    let trial = Trial::begin(Limits {
        startup: Duration::from_millis(1),
        ..patient()
    });
    let stage = &trial.stage;
    let marker = stage.home.path().join("go");
    let mut late = stage.odd("late", &[&format!("ready-when={}", marker.display())]);
    late.manifest.intercept = blocks(InterceptName::ToolCall);
    let mut dead = stage.odd("dead", &["traceback"]);
    dead.manifest.intercept = blocks(InterceptName::TurnStart);
    let mut missing = stage.launch("missing", "/no/such/program", vec![]);
    missing.manifest.intercept = blocks(InterceptName::UserMessage);
    trial.load(vec![late, dead, missing]).await;

    let block = stage.host.intercept(bash("ls")).await.result;
    let block = block.expect_err("blocked before it is ready");
    assert_eq!(block.reason, "late could not be asked: not ready yet");
    fs::write(marker, "").expect("written");
    until("the guard is ready", || {
        stage.host.registry().tool("echo").is_some()
    })
    .await;
    assert_eq!(
        stage.host.intercept(bash("ls")).await.result,
        Ok(bash("ls #late"))
    );

    trial.wait_for_error("dead", "ended: exit status 1").await;
    let event = TurnStartIntercept::new(1).into();
    let block = stage.host.intercept(event).await.result;
    let block = block.expect_err("blocked after it exited");
    let why = "dead could not be asked: ended: exit status 1";
    assert!(block.reason.starts_with(why), "{}", block.reason);

    let event = UserMessageIntercept::new("hi").into();
    let block = stage.host.intercept(event).await.result;
    let block = block.expect_err("blocked although it never started");
    assert_eq!(block.by, "missing");

    assert!(stage.call("crash").await.is_err());
    let block = stage.host.intercept(bash("ls")).await.result;
    let block = block.expect_err("blocked after it crashed");
    assert_eq!(
        block.reason,
        "late could not be asked: ended: killed by SIGSEGV"
    );
    let event = AssistantMessageIntercept::new("hi").into();
    let outcome = stage.host.intercept(event).await;
    assert!(outcome.result.is_ok(), "unguarded events pass");
    until("the other extension is ready", || {
        stage.host.registry().tool("good").is_some()
    })
    .await;
    trial.hold().await;
}

#[tokio::test]
async fn an_event_too_large_to_send_is_blocked() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let outcome = stage.host.intercept(bash(&"x".repeat(5 << 20))).await;
    let block = outcome
        .result
        .expect_err("an oversized event must not bypass a guard");
    assert_eq!(block.by, "odd");
    assert!(
        block.reason.contains("more than a frame"),
        "{}",
        block.reason
    );
    let called = stage.call_with("echo", json!({"text": "x".repeat(5 << 20)}));
    let error = called.await.unwrap_err().to_string();
    assert!(error.starts_with("odd: the request has "), "{error}");
    assert_eq!(
        stage.host.intercept(bash("ls")).await.result,
        Ok(bash("ls #odd"))
    );
    trial.hold().await;
}

/// Whichever comes first, the caller gets exactly one outcome and the next call gets its own
/// answer.
#[tokio::test]
async fn an_abort_racing_the_reply_has_one_outcome() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    // Measure how long a call takes, so that aborts come before, during and after the reply.
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(stage.answer("echo").await, "{}");
    }
    let usual = start.elapsed() / 20;
    let (mut answered, mut aborted) = (0, 0);
    for round in 0_u32..u32::try_from(400 * soak()).expect("small") {
        let call = stage
            .host
            .tool("echo", args(json!({"round": round})), |_| {});
        let abort = async {
            // The runtime's timers are too coarse.
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
    assert_eq!(stage.answer("echo").await, "{}");
    // A cancelled call must not stay pending, even if the extension never answers.
    let slow = stage.host.tool("slow", no_args(), |_| {});
    assert!(
        tokio::time::timeout(Duration::from_millis(50), slow)
            .await
            .is_err()
    );
    until("the extension receives tool_cancel", || {
        let notes = stage.notes.all();
        notes.iter().any(|note| note.contains("cancelled"))
    })
    .await;
    trial.hold().await;
}
