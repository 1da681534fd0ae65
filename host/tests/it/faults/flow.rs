//! Extensions that take too little, say too much, or hold still.

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
async fn one_that_does_not_read_is_disconnected_and_the_others_are_served() {
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
    trial.the_other_answers().await;
    trial
        .told("deaf", "was disconnected: it read nothing for 2s")
        .await;
    assert_eq!(state(&trial, "deaf"), ExtensionState::Failed);
    trial.hold().await;
}

#[tokio::test]
async fn one_with_a_full_queue_is_disconnected_at_once() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("deaf", &["deaf"])]).await;
    let before = resident_kib();
    for step in 0..20_000 {
        trial.stage.host.tell(&TurnStart::new(step).into());
    }
    trial
        .told("deaf", "was disconnected: it does not read what it is sent")
        .await;
    assert!(resident_kib() - before < 8 << 10, "the queue is bounded");
    trial.hold().await;
}

#[tokio::test]
async fn the_queues_of_all_share_one_budget() {
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
    until("two of them are gone", || gone() == 2).await;
    trial.the_other_answers().await;
    assert_eq!(gone(), 2, "what one of them has fits");
    trial.hold().await;
}

#[tokio::test]
async fn a_megabyte_of_standard_error_before_each_reply() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    for _ in 0..5 {
        let chatter = trial.stage.call_with("chatter", json!({"bytes": 1 << 20}));
        assert_eq!(text(&chatter.await.expect("answers")), "after chatter");
    }
    trial.the_other_answers().await;
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

/// A tenth of the million, since the tests are built without optimisation; `.ci/full` multiplies.
#[tokio::test]
async fn a_flood_of_notes_costs_bounded_memory_and_the_others_are_served() {
    alone!();
    let trial = Trial::on(|| {
        // Notes that nobody keeps, as a UI that shows the last few of them.
        crate::support::Stage::set_up(|config| {
            config.hooks = std::sync::Arc::new(zot_host::NoHooks);
        })
    });
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    trial.the_other_answers().await;
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

/// It reads what it is sent, and never stops talking: what the pipe did not take at once must still get there.
#[tokio::test]
async fn a_request_larger_than_the_pipe_reaches_one_that_never_stops_talking() {
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
async fn a_closed_standard_output_ends_it() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    let pid = trial.stage.answer("pid").await;
    let error = trial.stage.call("close_stdout").await.unwrap_err();
    assert_eq!(error.to_string(), "odd: closed its standard output");
    trial.told("odd", "closed its standard output").await;
    until("it does not stay", || !is_alive(&pid)).await;
    trial.hold().await;
}

#[tokio::test]
async fn a_closed_standard_input_fails_what_is_asked_and_kills_nobody() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial
        .load(vec![
            stage.odd("answers", &["own-names"]),
            stage.odd("silent", &["own-names"]),
        ])
        .await;
    // The one that has closed it may still answer what it has read.
    assert_eq!(stage.answer("answers_close_stdin").await, "closed");
    // What waits for the other when it closes it fails as soon as that is noticed, by the next write.
    let (pending, next) = tokio::join!(stage.call("silent_close_stdin_silently"), async {
        until("it is closed", || {
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

/// Nobody calls it, so only the note tells.
#[tokio::test]
async fn a_closed_standard_input_that_an_event_meets_is_told() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    assert_eq!(stage.answer("close_stdin").await, "closed");
    stage.host.tell(&TurnStart::new(1).into());
    trial.told("odd", "closed its standard input").await;
    trial.hold().await;
}

#[tokio::test]
async fn a_stopped_one_times_out_and_is_ended_by_the_shutdown() {
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
    until("it is stopped", || state_of(&pid) == Some('T')).await;
    let error = stage.call("echo").await.unwrap_err().to_string();
    assert!(error.starts_with("odd: no answer within "), "{error}");
    let outcome = within("a chain", stage.host.intercept(bash("ls"))).await;
    assert_eq!(outcome.result, Ok(bash("ls")), "goes on without it");
    let asked = stage.host.tool("echo", no_args(), |_| {});
    let (_, ()) = tokio::join!(asked, trial.the_other_answers());
    assert_eq!(state_of(&pid), Some('T'), "it was stopped all the time");
    trial.hold().await;
}

#[tokio::test]
async fn one_that_was_disconnected_finds_its_output_closed() {
    alone!();
    let trial = Trial::begin(Limits {
        garbage_lines: 50,
        ..patient()
    });
    let told = trial.stage.home.path().join("told");
    let script = format!(
        "trap '' TERM PIPE\n\
         echo '{{\"type\":\"hello\",\"name\":\"babbler\"}}'\n\
         while echo babble; do :; done 2>/dev/null\n\
         : > '{}'\n",
        told.display()
    );
    let babbler = trial
        .stage
        .launch("babbler", "/bin/sh", vec!["-c".into(), script]);
    trial.load(vec![babbler]).await;
    trial
        .told(
            "babbler",
            "was disconnected: 50 lines in a row are not JSON",
        )
        .await;
    until("it has noticed", || told.exists()).await;
    trial.hold().await;
}
