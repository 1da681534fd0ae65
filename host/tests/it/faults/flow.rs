//! Extensions that do not read, write too much, or stop responding.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_protocol::{AssistantMessageEvent, TurnStart, limits::Limits, rpc::ExtensionState};

use crate::support::{
    FaultTest, bash, is_alive, lenient_limits, no_args, resident_kib, run_in_own_process, signal,
    soak_factor, state_of, text, until, with_timeouts, within,
};

fn state(test: &FaultTest, name: &str) -> ExtensionState {
    let all = test.fixture.host.extensions();
    let info = all.into_iter().find(|info| info.name == name);
    info.unwrap().state
}

#[tokio::test]
async fn an_extension_that_does_not_read_is_disconnected() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        write_stall: Duration::from_secs(2),
        ..lenient_limits()
    });
    test.load(vec![test.fixture.odd("deaf", &["deaf"])]).await;
    for step in 0..20 {
        let payload = format!("{step}{}", "x".repeat(100_000));
        test.fixture
            .host
            .send_event(&AssistantMessageEvent::new(payload).into());
    }
    assert_eq!(state(&test, "deaf"), ExtensionState::Ready);
    test.check_other_extension().await;
    test.wait_for_error("deaf", "was disconnected: it read nothing for 2s")
        .await;
    assert_eq!(state(&test, "deaf"), ExtensionState::Failed);
    test.finish().await;
}

#[tokio::test]
async fn an_extension_with_a_full_queue_is_disconnected_immediately() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("deaf", &["deaf"])]).await;
    let before = resident_kib();
    for step in 0..20_000 {
        test.fixture.host.send_event(&TurnStart::new(step).into());
    }
    test.wait_for_error("deaf", "was disconnected: it is not reading its input")
        .await;
    assert!(resident_kib() - before < 8 << 10, "the queue is bounded");
    test.finish().await;
}

#[tokio::test]
async fn all_queues_share_one_memory_limit() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        all_queues_bytes: 3_000_000,
        ..lenient_limits()
    });
    let deaf = ["deaf1", "deaf2", "deaf3"].map(|name| test.fixture.odd(name, &["deaf"]));
    test.load(deaf.to_vec()).await;
    for _ in 0..20 {
        let payload = "x".repeat(100_000);
        test.fixture
            .host
            .send_event(&AssistantMessageEvent::new(payload).into());
    }
    let gone = || {
        let deaf = ["deaf1", "deaf2", "deaf3"].into_iter();
        deaf.filter(|name| state(&test, name) == ExtensionState::Failed)
            .count()
    };
    until("two extensions are disconnected", || gone() == 2).await;
    test.check_other_extension().await;
    assert_eq!(gone(), 2, "the third extension's queue fits");
    test.finish().await;
}

#[tokio::test]
async fn a_megabyte_of_stderr_before_each_reply_is_drained_and_rotated() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    for _ in 0..5 {
        let chatter = test.fixture.call_with("chatter", json!({"bytes": 1 << 20}));
        assert_eq!(text(&chatter.await.expect("answers")), "after chatter");
    }
    test.check_other_extension().await;
    let logs = test.fixture.home.path().join("logs");
    let sizes: Vec<(String, u64)> = fs::read_dir(logs)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let size = entry.metadata().unwrap().len();
            (entry.file_name().display().to_string(), size)
        })
        .filter(|(name, _)| name.contains("odd"))
        .collect();
    assert!(
        sizes.len() <= 2 && sizes.iter().all(|(_, size)| *size <= 1 << 20),
        "{sizes:?}"
    );
    test.finish().await;
}

/// Sends only 100,000 notifications, because tests are built without optimisation. `.ci/full` sends
/// more.
#[tokio::test]
async fn a_flood_of_notes_uses_bounded_memory_and_does_not_starve_others() {
    run_in_own_process!();
    let test = FaultTest::with_host(|| {
        // Notes are discarded, as in a UI that shows only the last few.
        crate::support::HostFixture::set_up(|config| {
            config.hooks = std::sync::Arc::new(zot_host::NoHooks);
        })
    });
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    test.check_other_extension().await;
    let before = resident_kib();
    let flood = fixture.call_with("flood", json!({"notes": 100_000 * soak_factor()}));
    let mut answered = 0;
    let mut slowest = Duration::ZERO;
    let flooded = async {
        tokio::pin!(flood);
        loop {
            let start = Instant::now();
            tokio::select! {
                biased;
                flooded = &mut flood => return flooded,
                answer = fixture.answer("good") => {
                    assert_eq!(answer, "good: called");
                    slowest = slowest.max(start.elapsed());
                    answered += 1;
                }
            }
        }
    };
    let flooded = flooded.await.expect("answers");
    assert_eq!(text(&flooded), "after the flood");
    assert!(answered > 20, "only {answered}, the slowest {slowest:?}");
    let grown = resident_kib() - before;
    assert!(grown < 16 << 10, "grew by {grown} KiB");
    test.finish().await;
}

/// The extension reads its input but never stops writing. The part of the request that did not fit
/// into the pipe must still arrive.
#[tokio::test]
async fn a_request_larger_than_the_pipe_reaches_an_extension_that_keeps_writing() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        tool: Duration::from_secs(30),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let talker = fixture.sh(
        "talker",
        r#"
        echo '{"type":"hello","name":"talker"}'
        echo '{"type":"register_tool","name":"measure","schema":{}}'
        echo '{"type":"ready"}'
        read -r hello_ack
        yes '{"type":"shutdown_ack"}' & talking=$!
        yes '{"type":"shutdown_ack"}' & too=$!
        read -r line
        kill $talking $too; wait
        id=${line#*\"id\":\"}; id=${id%%\"*}
        # What was cut off in the middle ends here.
        echo
        echo '{"type":"tool_result","id":"'"$id"'","content":[{"type":"text","text":"'"${#line}"'"}]}'
        read -r line
        "#,
    );
    test.load(vec![talker]).await;
    let measured = fixture
        .call_with("measure", json!({"text": "x".repeat(1 << 20)}))
        .await
        .expect("the whole request arrives");
    let length: usize = text(&measured).parse().unwrap();
    assert!(length > 1 << 20, "{length}");
    test.finish().await;
}

#[tokio::test]
async fn an_extension_that_closes_stdout_is_ended() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    let pid = test.fixture.answer("pid").await;
    let error = test.fixture.call("close_stdout").await.unwrap_err();
    assert_eq!(error.to_string(), "odd: closed its standard output");
    test.wait_for_error("odd", "closed its standard output")
        .await;
    until("the process exits", || !is_alive(&pid)).await;
    test.finish().await;
}

#[tokio::test]
async fn a_closed_stdin_fails_requests_without_killing_the_extension() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![
        fixture.odd("answers", &["own-names"]),
        fixture.odd("silent", &["own-names"]),
    ])
    .await;
    // An extension that has closed stdin can still answer requests that it has already read.
    assert_eq!(fixture.answer("answers_close_stdin").await, "closed");
    // A pending call to the other extension fails with the next write, which detects the closed
    // pipe.
    let (pending, next) = tokio::join!(fixture.call("silent_close_stdin_silently"), async {
        until("stdin is closed", || {
            let notes = fixture.notes.all();
            notes.iter().any(|note| note.ends_with("closed"))
        })
        .await;
        fixture.call("silent_echo").await
    });
    let last = fixture.call("answers_echo").await;
    for (name, outcome) in [("silent", pending), ("silent", next), ("answers", last)] {
        let error = outcome.unwrap_err().to_string();
        let says = error.starts_with(&format!("{name}: "));
        assert!(
            says && error.ends_with("closed its standard input"),
            "{error}"
        );
    }
    test.finish().await;
}

/// No call fails here, so the note is the only report.
#[tokio::test]
async fn a_closed_stdin_detected_by_an_event_is_reported() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    assert_eq!(fixture.answer("close_stdin").await, "closed");
    fixture.host.send_event(&TurnStart::new(1).into());
    test.wait_for_error("odd", "closed its standard input")
        .await;
    test.finish().await;
}

#[tokio::test]
async fn a_stopped_extension_times_out_and_is_ended_by_the_shutdown() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        shutdown_grace: Duration::from_millis(300),
        term_grace: Duration::from_millis(300),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let odd = with_timeouts(fixture.odd("odd", &[]), |timeouts| {
        timeouts.tool_ms = Some(300);
        timeouts.intercept_ms = Some(300);
    });
    test.load(vec![odd]).await;
    let pid = fixture.host.command("say", "pid").await;
    let pid = pid.expect("answers").display.unwrap();
    assert!(signal(&pid, "STOP"));
    until("the process is stopped", || state_of(&pid) == Some('T')).await;
    let error = fixture.call("echo").await.unwrap_err().to_string();
    assert!(error.starts_with("odd: no answer within "), "{error}");
    let outcome = within("a chain", fixture.host.intercept(bash("ls"))).await;
    assert_eq!(
        outcome.result,
        Ok(bash("ls")),
        "the event passes without it"
    );
    let asked = fixture.host.tool("echo", no_args(), |_| {});
    let (_, ()) = tokio::join!(asked, test.check_other_extension());
    assert_eq!(state_of(&pid), Some('T'), "still stopped");
    test.finish().await;
}

#[tokio::test]
async fn a_disconnected_extension_finds_its_stdout_closed() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        garbage_lines: 50,
        ..lenient_limits()
    });
    let noticed = test.fixture.home.path().join("noticed");
    let script = format!(
        "trap '' TERM PIPE\n\
         echo '{{\"type\":\"hello\",\"name\":\"babbler\"}}'\n\
         while echo babble; do :; done 2>/dev/null\n\
         : > '{}'\n",
        noticed.display()
    );
    let babbler = test
        .fixture
        .launch("babbler", "/bin/sh", vec!["-c".into(), script]);
    test.load(vec![babbler]).await;
    test.wait_for_error(
        "babbler",
        "was disconnected: 50 lines in a row were not JSON",
    )
    .await;
    until("the extension noticed", || noticed.exists()).await;
    test.finish().await;
}
