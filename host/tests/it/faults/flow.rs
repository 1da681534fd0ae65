//! Extensions that do not read, write too much, or stop responding.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_protocol::{AssistantMessageEvent, TurnStart, limits::Limits, rpc::ExtensionState};

use crate::support::{
    Trial, alone, bash, hurried, is_alive, no_args, patient, resident_kib, signal, soak, state_of,
    text, until, within,
};

fn state(trial: &Trial, name: &str) -> ExtensionState {
    let all = trial.stage.host.extensions();
    let info = all.into_iter().find(|info| info.name == name);
    info.expect("loaded").state
}

#[tokio::test]
async fn an_extension_that_does_not_read_is_disconnected() {
    alone!();
    let trial = Trial::begin(Limits {
        write_stall: Duration::from_secs(2),
        ..patient()
    });
    trial.load(vec![trial.stage.odd("deaf", &["deaf"])]).await;
    for step in 0..20 {
        let text = format!("{step}{}", "x".repeat(100_000));
        trial
            .stage
            .host
            .tell(&AssistantMessageEvent::new(text).into());
    }
    assert_eq!(state(&trial, "deaf"), ExtensionState::Ready);
    trial.check_other_extension().await;
    trial
        .wait_for_error("deaf", "was disconnected: it read nothing for 2s")
        .await;
    assert_eq!(state(&trial, "deaf"), ExtensionState::Failed);
    trial.hold().await;
}

#[tokio::test]
async fn an_extension_with_a_full_queue_is_disconnected_at_once() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("deaf", &["deaf"])]).await;
    let before = resident_kib();
    for step in 0..20_000 {
        trial.stage.host.tell(&TurnStart::new(step).into());
    }
    trial
        .wait_for_error("deaf", "was disconnected: it does not read what it is sent")
        .await;
    assert!(resident_kib() - before < 8 << 10, "the queue is bounded");
    trial.hold().await;
}

#[tokio::test]
async fn all_queues_share_one_memory_limit() {
    alone!();
    let trial = Trial::begin(Limits {
        all_queues_bytes: 3_000_000,
        ..patient()
    });
    let deaf = ["deaf1", "deaf2", "deaf3"].map(|name| trial.stage.odd(name, &["deaf"]));
    trial.load(deaf.to_vec()).await;
    for _ in 0..20 {
        let text = "x".repeat(100_000);
        trial
            .stage
            .host
            .tell(&AssistantMessageEvent::new(text).into());
    }
    let gone = || {
        let deaf = ["deaf1", "deaf2", "deaf3"].into_iter();
        deaf.filter(|name| state(&trial, name) == ExtensionState::Failed)
            .count()
    };
    until("two extensions are disconnected", || gone() == 2).await;
    trial.check_other_extension().await;
    assert_eq!(gone(), 2, "the queue of the third fits");
    trial.hold().await;
}

#[tokio::test]
async fn a_megabyte_of_stderr_before_each_reply_is_drained_and_rotated() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    for _ in 0..5 {
        let chatter = trial.stage.call_with("chatter", json!({"bytes": 1 << 20}));
        assert_eq!(text(&chatter.await.expect("answers")), "after chatter");
    }
    trial.check_other_extension().await;
    let logs = trial.stage.home.path().join("logs");
    let sizes: Vec<(String, u64)> = fs::read_dir(logs)
        .expect("there")
        .map(|entry| {
            let entry = entry.expect("readable");
            let size = entry.metadata().expect("there").len();
            (entry.file_name().display().to_string(), size)
        })
        .filter(|(name, _)| name.contains("odd"))
        .collect();
    assert!(
        sizes.len() <= 2 && sizes.iter().all(|(_, size)| *size <= 1 << 20),
        "{sizes:?}"
    );
    trial.hold().await;
}

/// 100,000 notifications, because tests are built without optimisation. `.ci/full` multiplies this.
#[tokio::test]
async fn a_flood_of_notes_uses_bounded_memory_and_does_not_starve_others() {
    alone!();
    let trial = Trial::on(|| {
        // Notes are discarded, like in a UI that shows only the last few.
        crate::support::Stage::set_up(|config| {
            config.hooks = std::sync::Arc::new(zot_host::NoHooks);
        })
    });
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    trial.check_other_extension().await;
    let before = resident_kib();
    let flood = stage.call_with("flood", json!({"notes": 100_000 * soak()}));
    let mut answered = 0;
    let mut slowest = Duration::ZERO;
    let flooded = async {
        tokio::pin!(flood);
        loop {
            let start = Instant::now();
            tokio::select! {
                biased;
                flooded = &mut flood => return flooded,
                answer = stage.answer("good") => {
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
    trial.hold().await;
}

/// The extension reads its input but never stops writing. The part of the request that did not fit
/// into the pipe must still arrive.
#[tokio::test]
async fn a_request_larger_than_the_pipe_reaches_an_extension_that_keeps_writing() {
    alone!();
    let trial = Trial::begin(Limits {
        tool: Duration::from_secs(30),
        ..patient()
    });
    let stage = &trial.stage;
    let talker = stage.sh(
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
    trial.load(vec![talker]).await;
    let measured = stage
        .call_with("measure", json!({"text": "x".repeat(1 << 20)}))
        .await
        .expect("the whole request arrives");
    let length: usize = text(&measured).parse().expect("a number");
    assert!(length > 1 << 20, "{length}");
    trial.hold().await;
}

#[tokio::test]
async fn an_extension_that_closes_stdout_is_ended() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    let pid = trial.stage.answer("pid").await;
    let error = trial.stage.call("close_stdout").await.unwrap_err();
    assert_eq!(error.to_string(), "odd: closed its standard output");
    trial
        .wait_for_error("odd", "closed its standard output")
        .await;
    until("the process exits", || !is_alive(&pid)).await;
    trial.hold().await;
}

#[tokio::test]
async fn a_closed_stdin_fails_requests_without_killing_the_extension() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial
        .load(vec![
            stage.odd("answers", &["own-names"]),
            stage.odd("silent", &["own-names"]),
        ])
        .await;
    // An extension that closed stdin may still answer what it has already read.
    assert_eq!(stage.answer("answers_close_stdin").await, "closed");
    // A pending call to the other one fails with the next write, which detects the closed pipe.
    let (pending, next) = tokio::join!(stage.call("silent_close_stdin_silently"), async {
        until("stdin is closed", || {
            let notes = stage.notes.all();
            notes.iter().any(|note| note.ends_with("closed"))
        })
        .await;
        stage.call("silent_echo").await
    });
    let last = stage.call("answers_echo").await;
    for (name, outcome) in [("silent", pending), ("silent", next), ("answers", last)] {
        let error = outcome.unwrap_err().to_string();
        let says = error.starts_with(&format!("{name}: "));
        assert!(
            says && error.ends_with("closed its standard input"),
            "{error}"
        );
    }
    trial.hold().await;
}

/// No call fails here, so the note is the only report.
#[tokio::test]
async fn a_closed_stdin_detected_by_an_event_is_reported() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    assert_eq!(stage.answer("close_stdin").await, "closed");
    stage.host.tell(&TurnStart::new(1).into());
    trial
        .wait_for_error("odd", "closed its standard input")
        .await;
    trial.hold().await;
}

#[tokio::test]
async fn a_stopped_extension_times_out_and_is_ended_by_the_shutdown() {
    alone!();
    let trial = Trial::begin(Limits {
        shutdown_grace: Duration::from_millis(300),
        term_grace: Duration::from_millis(300),
        ..patient()
    });
    let stage = &trial.stage;
    let odd = hurried(stage.odd("odd", &[]), |timeouts| {
        timeouts.tool_ms = Some(300);
        timeouts.intercept_ms = Some(300);
    });
    trial.load(vec![odd]).await;
    let pid = stage.host.command("say", "pid").await;
    let pid = pid.expect("answers").display.expect("a text");
    assert!(signal(&pid, "STOP"));
    until("the process is stopped", || state_of(&pid) == Some('T')).await;
    let error = stage.call("echo").await.unwrap_err().to_string();
    assert!(error.starts_with("odd: no answer within "), "{error}");
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
    assert_eq!(
        outcome.result,
        Ok(bash("ls")),
        "the event passes without it"
    );
    let asked = stage.host.tool("echo", no_args(), |_| {});
    let (_, ()) = tokio::join!(asked, trial.check_other_extension());
    assert_eq!(state_of(&pid), Some('T'), "still stopped");
    trial.hold().await;
}

#[tokio::test]
async fn a_disconnected_extension_finds_its_stdout_closed() {
    alone!();
    let trial = Trial::begin(Limits {
        garbage_lines: 50,
        ..patient()
    });
    let noticed = trial.stage.home.path().join("noticed");
    let script = format!(
        "trap '' TERM PIPE\n\
         echo '{{\"type\":\"hello\",\"name\":\"babbler\"}}'\n\
         while echo babble; do :; done 2>/dev/null\n\
         : > '{}'\n",
        noticed.display()
    );
    let babbler = trial
        .stage
        .launch("babbler", "/bin/sh", vec!["-c".into(), script]);
    trial.load(vec![babbler]).await;
    trial
        .wait_for_error(
            "babbler",
            "was disconnected: 50 lines in a row are not JSON",
        )
        .await;
    until("the extension noticed", || noticed.exists()).await;
    trial.hold().await;
}
