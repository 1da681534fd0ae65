//! Stress tests: reloads under load, and the order of events. `.ci/full` runs them longer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use zot_host::{Host, HostError};
use zot_protocol::{
    Intercept, InterceptName, ToolCallEvent, ToolCallIntercept, TurnStart, limits::Limits,
    rpc::ExtensionState,
};

use crate::support::{
    FaultTest, TEST_TIMEOUT, args, bash, block_on_failure, lenient_limits, run_in_own_process,
    soak_factor, text, until, within,
};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// Limits under which no extension is disconnected for being slow on a busy machine.
fn generous_limits() -> Limits {
    Limits {
        queue_frames: 1_000_000,
        shutdown_grace: TEST_TIMEOUT,
        ..lenient_limits()
    }
}

/// Counts how the calls of all tasks ended.
#[derive(Default)]
struct Tally {
    over: AtomicBool,
    begun: AtomicUsize,
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Tally {
    /// Returns the number of a new call, or `None` once the test is over.
    fn begin(&self) -> Option<usize> {
        let goes_on = !self.over.load(Ordering::SeqCst);
        goes_on.then(|| self.begun.fetch_add(1, Ordering::SeqCst))
    }

    /// Records an outcome, which is an answer or an expected error.
    fn end(&self, outcome: Result<(), HostError>) {
        match outcome {
            Ok(()) => self.answered.fetch_add(1, Ordering::SeqCst),
            Err(HostError::Extension { error, .. }) => {
                assert_eq!(error.to_string(), "was shut down");
                self.failed.fetch_add(1, Ordering::SeqCst)
            }
            Err(other) => panic!("a call during a reload should wait for it: {other}"),
        };
    }
}

async fn call_tools(host: Host, tally: Arc<Tally>) {
    while let Some(number) = tally.begin() {
        let tool = format!("{}_echo", NAMES[number % NAMES.len()]);
        let call = host.tool(&tool, args(json!({"n": number})), |_| {});
        let result = within("a call", call).await.map(|result| {
            assert_eq!(text(&result), format!("{{\"n\": {number}}}"));
        });
        tally.end(result);
    }
}

async fn run_commands(host: Host, tally: Arc<Tally>) {
    while let Some(number) = tally.begin() {
        let command = format!("{}_say", NAMES[number % NAMES.len()]);
        let words = number.to_string();
        let call = host.command(&command, &words);
        let result = within("a command", call).await.map(|response| {
            assert_eq!(response.display.as_deref(), Some(words.as_str()));
        });
        tally.end(result);
    }
}

/// Every running extension marks the event, in load order. An extension that has just stopped is
/// skipped, except for the first one: it is a guard, so no event may pass without its check.
async fn intercept(host: Host, tally: Arc<Tally>) {
    while tally.begin().is_some() {
        let outcome = within("a chain", host.intercept(bash("ls"))).await;
        let call = match outcome.result {
            Ok(Intercept::ToolCall(call)) => call,
            Ok(other) => panic!("unexpected event: {other:?}"),
            Err(block) => {
                let refused = format!("{} failed: was shut down", NAMES[0]);
                assert_eq!(block.reason, refused);
                tally.failed.fetch_add(1, Ordering::SeqCst);
                continue;
            }
        };
        let command = call.tool_args["command"].as_str().unwrap();
        let marks: Vec<&str> = command.split(" #").skip(1).collect();
        let expected: Vec<&str> = NAMES
            .into_iter()
            .filter(|name| marks.contains(name))
            .collect();
        assert_eq!(marks, expected);
        assert_eq!(marks.first(), Some(&NAMES[0]), "bypassed the guard");
        tally.end(Ok(()));
    }
}

async fn tell(host: Host, tally: Arc<Tally>) {
    let mut step = 0;
    while !tally.over.load(Ordering::SeqCst) {
        step += 1;
        host.send_event(&TurnStart::new(step).into());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs 20 reloads. `.ci/full` runs more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_under_load_lose_no_calls_and_leave_nothing_behind() {
    run_in_own_process!();
    let test = FaultTest::new(generous_limits());
    let host = test.fixture.host.clone();
    let launches = || {
        let words = ["only", "own-names"];
        let mut launches = NAMES.map(|name| test.fixture.odd(name, &words));
        launches[0].manifest.intercept = block_on_failure(InterceptName::ToolCall);
        launches.to_vec()
    };
    test.load(launches()).await;

    let tally = Arc::new(Tally::default());
    let tasks = [
        tokio::spawn(call_tools(host.clone(), Arc::clone(&tally))),
        tokio::spawn(call_tools(host.clone(), Arc::clone(&tally))),
        tokio::spawn(run_commands(host.clone(), Arc::clone(&tally))),
        tokio::spawn(intercept(host.clone(), Arc::clone(&tally))),
        tokio::spawn(tell(host.clone(), Arc::clone(&tally))),
    ];
    for round in 0..20 * soak_factor() {
        let before = tally.answered.load(Ordering::SeqCst);
        let stats = test.load(launches()).await;
        assert_eq!(stats.errors, [], "round {round}");
        assert_eq!((stats.stopped, stats.ready), (4, 4), "round {round}");
        until("the new extensions answer", || {
            tally.answered.load(Ordering::SeqCst) > before + 20
                || tasks.iter().any(JoinHandle::is_finished)
        })
        .await;
    }
    tally.over.store(true, Ordering::SeqCst);
    for task in tasks {
        within("the last call", task).await.expect("no task failed");
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    assert_eq!(
        count(&tally.begun),
        count(&tally.answered) + count(&tally.failed)
    );
    assert!(!test.fixture.home.path().join("two-copies").exists());
    test.check_no_notes();
    drop(host);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_during_a_reload_are_answered_by_the_new_extensions() {
    run_in_own_process!();
    let test = FaultTest::new(generous_limits());
    let host = test.fixture.host.clone();
    test.load(vec![]).await;
    for round in 0..20 * soak_factor() {
        let marker = test.fixture.home.path().join(format!("go{round}"));
        let word = format!("ready-when={}", marker.display());
        let waits = test.fixture.odd("waits", &[&word]);
        let reload = test.load(vec![waits]);
        let asking = async {
            until("the reload starts the extension", || {
                let all = host.extensions();
                let info = all.first();
                info.is_some_and(|info| {
                    info.name == "waits" && info.state == ExtensionState::Starting
                })
            })
            .await;
            let asked: Vec<_> = (0..40)
                .map(|_| {
                    let host = host.clone();
                    tokio::spawn(async move { host.tool("good", args(json!({})), |_| {}).await })
                })
                .collect();
            tokio::task::yield_now().await;
            std::fs::write(&marker, "").unwrap();
            for call in asked {
                let result = within("a call", call).await.expect("no panic");
                assert_eq!(
                    text(&result.expect("answered by the new extensions")),
                    "good: called"
                );
            }
        };
        tokio::join!(reload, asking);
    }
    drop(host);
    test.finish().await;
}

/// Arguments large enough that a burst of them does not fit into a pipe.
fn numbered(n: usize) -> Value {
    json!({"n": n, "by": [], "ballast": "x".repeat(3000)})
}

/// Sends 2,000 events. `.ci/full` sends more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_and_interceptions_arrive_in_order() {
    run_in_own_process!();
    let test = FaultTest::new(generous_limits());
    let host = test.fixture.host.clone();
    // The first extension in load order starts last.
    let delays = [
        ("ash", "0.4"),
        ("birch", "0.0"),
        ("cedar", "0.3"),
        ("elm", "0.1"),
    ];
    let names = delays.map(|(name, _)| name);
    let launches = delays
        .map(|(name, delay)| {
            let args = vec![name.to_owned(), delay.to_owned()];
            test.fixture.script(name, "order.py", args)
        })
        .to_vec();
    let stats = test.load(launches).await;
    assert_eq!(stats.ready, 5, "{stats:?}");

    // Make other calls over the same pipes at the same time.
    let over = Arc::new(AtomicBool::new(false));
    let noise = names.map(|name| {
        let (host, over) = (host.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            let mut calls = 0;
            while !over.load(Ordering::SeqCst) {
                let result = host.tool(name, args(json!({})), |_| {}).await;
                assert_eq!(text(&result.expect("answers")), name);
                calls += 1;
            }
            calls
        })
    });
    let total = 2000 * soak_factor();
    for n in 0..total {
        // Send bursts of events, which have to queue, mixed with interceptions.
        if n % 100 > 50 && n % 3 == 0 {
            let event = ToolCallIntercept::new("bash", args(numbered(n)));
            let outcome = within("a chain", host.intercept(event.into())).await;
            let Ok(Intercept::ToolCall(call)) = outcome.result else {
                panic!("{outcome:?}");
            };
            assert_eq!(call.tool_args["by"], json!(names), "in load order");
        } else {
            host.send_event(&ToolCallEvent::new("bash", args(numbered(n))).into());
        }
    }
    over.store(true, Ordering::SeqCst);
    for task in noise {
        assert!(within("noise", task).await.expect("no panic") > 0);
    }
    let expected: Vec<usize> = (0..total).collect();
    for name in names {
        let received = within("a command", host.command(name, "")).await;
        let received = received.expect("answers").display.unwrap();
        let received: Vec<usize> = serde_json::from_str(&received).unwrap();
        assert!(
            received == expected,
            "{name}: {:?}",
            received
                .iter()
                .zip(&expected)
                .find(|(received, n)| received != n)
        );
    }
    drop(host);
    test.finish().await;
}
