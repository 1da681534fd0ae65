//! Malformed, oversized and unexpected lines.

use std::sync::Arc;

use serde_json::json;
use zot_host::{HostError, extension::RequestError};
use zot_protocol::limits::{FRAME_BYTES, Limits};

use crate::support::{
    FaultTest, HostFixture, SentFrames, args, bash, lenient_limits, resident_kib,
    run_in_own_process, soak_factor, text, until, with_timeouts, within,
};

#[tokio::test]
async fn a_banner_and_extra_white_space_are_tolerated() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let stats = test
        .load(vec![
            test.fixture.odd("frills", &["frills", "own-names"]),
            test.fixture
                .odd("banner", &["banner", "hello-twice", "own-names"]),
        ])
        .await;
    assert_eq!((stats.ready, stats.errors.len()), (3, 0), "{stats:?}");
    assert_eq!(test.fixture.answer("frills_echo").await, "{}");
    assert_eq!(test.fixture.answer("banner_echo").await, "{}");
    let log = test.fixture.log("banner");
    assert!(log.contains("not JSON"), "the banner is logged: {log}");
    assert!(log.contains("ignored a second hello"), "{log}");
    test.check_no_notes();
    test.finish().await;
}

#[tokio::test]
async fn an_invalid_line_is_skipped_and_logged() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    let note = |fields: &str| format!(r#"{{"type":"notify","level":"info",{fields}}}"#);
    let deep = note(&format!(
        r#""message":"x","more":{}{}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    ));
    let lines = [
        (note("\"message\":\"\u{ff}\u{fe}\""), "invalid utf-8"),
        (note(r#""message":"a","message":"b""#), "message"),
        (note(r#""message":"a","more":1e999"#), "range"),
        (note(r#""message":"\ud800""#), "hex escape"),
        (deep, "deep"),
    ];
    for (line, reason) in lines {
        let before = test.fixture.log("odd").len();
        let called = test.fixture.call_with("line", json!({"line": line}));
        let result = called.await.expect("the call itself is answered");
        assert_eq!(text(&result), "and the next one works");
        let log = test.fixture.log("odd").split_off(before);
        let logged = log.lines().find(|line| line.contains("[zot]"));
        let logged = logged.unwrap_or_else(|| panic!("nothing in the log for {reason}: {log}"));
        assert!(logged.to_lowercase().contains(reason), "{reason}: {logged}");
        assert!(log.len() < 1000, "the line itself is not repeated");
    }
    test.check_no_notes();
    test.finish().await;
}

/// Each invalid line answers a call, which fails immediately with the reason.
#[tokio::test]
async fn an_invalid_answer_fails_its_call_immediately() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    let answer = |content: &str| {
        format!(
            r#"{{"type":"tool_result","id":"$ID","content":[{{"type":"text","text":{content}}}]}}"#
        )
    };
    let lines = [
        (answer(r#""a","text":"b""#), "text"),
        (answer("1e999"), "range"),
        (answer(r#""\ud800""#), "hex escape"),
        (answer("5"), "/content/0/text"),
        (
            r#"{"type":"tool_result","id":"$ID","content":"hello"}"#.to_owned(),
            "/content",
        ),
    ];
    for (line, reason) in lines {
        let called = test.fixture.call_with("line", json!({"line": line}));
        let error = called.await.expect_err("refused").to_string();
        assert!(error.starts_with("odd: its answer is invalid: "), "{error}");
        assert!(error.to_lowercase().contains(reason), "{reason}: {error}");
        assert!(!error.contains('\n') && error.len() < 500, "{error}");
    }
    let error = test.fixture.call("wrong").await.unwrap_err().to_string();
    assert_eq!(
        error,
        r#"odd: its answer is invalid: tool_result: /content/0/type: "txt" is not one of "text", "image""#
    );
    assert_eq!(test.fixture.answer("echo").await, "{}");
    test.finish().await;
}

#[tokio::test]
async fn a_last_line_without_a_newline_is_read() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    assert_eq!(test.fixture.answer("last_line").await, "bye");
    test.wait_for_error("odd", "ended: exit status 0").await;
    test.finish().await;
}

#[tokio::test]
async fn a_line_at_the_size_limit_is_accepted_and_one_byte_more_is_not() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    let fixture = &test.fixture;
    let at = fixture.call_with("sized", json!({"bytes": FRAME_BYTES}));
    assert!(text(&at.await.unwrap()).len() > FRAME_BYTES - 200);
    // The oversized line could be the answer to any pending call, so all of them fail with the
    // reason.
    let (slow, over) = tokio::join!(
        fixture.call("slow"),
        fixture.call_with("sized", json!({"bytes": FRAME_BYTES + 1}))
    );
    for error in [slow.unwrap_err(), over.unwrap_err()] {
        assert_eq!(
            error.to_string(),
            "odd: it sent a line longer than 4194304 bytes"
        );
    }
    assert_eq!(fixture.answer("echo").await, "{}");
    assert!(
        fixture
            .log("odd")
            .contains("skipped a line longer than 4194304 bytes")
    );
    test.finish().await;
}

/// Sends 100 MB. `.ci/full` sends more.
#[tokio::test]
async fn an_endless_line_is_skipped_in_bounded_memory() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    test.check_other_extension().await;
    let before = resident_kib();
    let bytes = (soak_factor() * 100) << 20;
    let endless = test.fixture.call_with("endless", json!({"bytes": bytes}));
    let error = endless.await.expect_err("the line is too long");
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
    // The extension may still be writing the line. Its next answer follows the line.
    assert_eq!(test.fixture.answer("echo").await, "{}");
    let grown = resident_kib() - before;
    assert!(
        grown < 2 * (FRAME_BYTES >> 10) + 1024,
        "grew by {grown} KiB"
    );
    test.finish().await;
}

#[tokio::test]
async fn unexpected_replies_are_logged_and_dropped() {
    run_in_own_process!();
    let sent = Arc::new(SentFrames::default());
    let test = FaultTest::with_host(|| {
        HostFixture::set_up(|config| {
            config.tap = Some(Arc::<SentFrames>::clone(&sent));
        })
    });
    let fixture = &test.fixture;
    test.load(vec![
        fixture.odd("odd", &["own-names", "late-reply"]),
        fixture.odd("thief", &["own-names"]),
    ])
    .await;
    let dropped = |name: &str| {
        fixture
            .log(name)
            .matches("no request is waiting for it")
            .count()
    };
    assert_eq!(fixture.answer("odd_twice").await, "first");
    assert_eq!(fixture.answer("odd_echo").await, "{}");
    assert_eq!(dropped("odd"), 2, "{}", fixture.log("odd"));

    // A call answered by another extension stays pending until it is cancelled.
    let calling = fixture.host.tool("odd_slow", args(json!({})), |_| {});
    let mut calling = Box::pin(calling);
    let id = tokio::select! {
        _ = &mut calling => panic!("answered too early"),
        id = async {
            let call = || sent.to("odd").into_iter().find(|frame| frame["name"] == "odd_slow");
            until("the tool is called", || call().is_some()).await;
            call().expect("just found")["id"].clone()
        } => id,
    };
    let stolen = fixture
        .call_with("thief_answer_for", json!({"id": id}))
        .await;
    assert_eq!(text(&stolen.expect("answers")), "done");
    assert_eq!(dropped("thief"), 1, "{}", fixture.log("thief"));
    let answered = is_ready(&mut calling).await;
    assert!(!answered, "another extension's answer is ignored");
    drop(calling);
    until("its own late answer is dropped", || dropped("odd") == 3).await;
    test.finish().await;
}

/// Reports whether a future is ready right now.
async fn is_ready<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_ready())
    })
    .await
}

#[tokio::test]
async fn a_reply_after_the_deadline_is_dropped() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    let odd = with_timeouts(fixture.odd("odd", &["late-reply"]), |timeouts| {
        timeouts.tool_ms = Some(200);
    });
    test.load(vec![odd]).await;
    let error = fixture.call("slow").await.unwrap_err();
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
    assert!(error.to_string().starts_with("odd: no answer within "));
    until("the late answer is dropped", || {
        fixture.log("odd").contains("no request is waiting for it")
    })
    .await;
    until("the extension receives tool_cancel", || {
        let notes = fixture.notes.all();
        notes.iter().any(|note| note.contains("cancelled"))
    })
    .await;
    test.finish().await;
}

#[tokio::test]
async fn a_malformed_answer_that_blocks_still_blocks() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![
        test.fixture.odd("rewrites", &["bad-rewrite"]),
        test.fixture.odd("blocks", &["bad-block"]),
    ])
    .await;
    let outcome = within("a chain", test.fixture.host.intercept(bash("ls"))).await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!(block.by, "blocks");
    let first = format!("{:?}", outcome.records[0].verdict);
    assert!(
        first.contains("FailedOpen") && first.contains("modified_args"),
        "{first}"
    );
    assert!(test.fixture.log("blocks").contains("/modified_args"));
    test.finish().await;
}

#[tokio::test]
async fn too_many_garbage_lines_disconnect_the_extension() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        garbage_lines: 100,
        ..lenient_limits()
    });
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    assert_eq!(test.fixture.answer("garbage").await, "after garbage");
    let garbage = test.fixture.call_with("garbage", json!({"lines": 100_000}));
    let why = "was disconnected: 100 lines in a row were not JSON";
    assert_eq!(
        garbage.await.unwrap_err().to_string(),
        format!("odd: {why}")
    );
    test.wait_for_error("odd", why).await;
    test.finish().await;
}
