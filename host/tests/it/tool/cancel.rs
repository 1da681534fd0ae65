//! Abort, at any point.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_protocol::ToolStatus;

use super::{Bench, has, said};
use crate::support::{args, processes_in, soak, until, within};

/// A tree that forks, leaves its group and ignores what it can.
const TREE: &str = "echo begun; (setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.01; done' &) \
                    ; (sleep 600 | sleep 600) & for n in 1 2 3 4 5; do (sleep 600 &); done; sleep 600";

/// Twenty; `.ci/full` multiplies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_at_any_point_a_command_leaves_nobody() {
    let bench = Bench::new();
    for round in 0..20 * soak() as u64 {
        let cancel = CancellationToken::new();
        let running = bench
            .toolbox
            .run("bash", args(json!({"command": TREE})), |_| {}, &cancel);
        let cancelling = async {
            // Spread over the start of the tree, without a source of chance.
            tokio::time::sleep(Duration::from_micros(round * 7919 % 60_000)).await;
            cancel.cancel();
            Instant::now()
        };
        let (outcome, since) = within("bash", async { tokio::join!(running, cancelling) }).await;
        let outcome = outcome.expect("built in");
        assert_eq!(outcome.status, ToolStatus::Cancelled);
        has(&said(&outcome), "cancelled");
        assert!(since.elapsed() < Duration::from_secs(10));
        if said(&outcome).contains("cannot kill process") {
            // It is told truly: on a busy machine the kernel may take more than a second to carry out a SIGKILL.
            until("all are gone", || {
                processes_in(bench.folder.path()).is_empty()
            })
            .await;
        }
        bench.nothing_left();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_dropped_leaves_nobody() {
    let bench = Bench::new();
    for round in 0..10 {
        let cancel = CancellationToken::new();
        let command = format!("seq 1 100000; {TREE}");
        let running = bench
            .toolbox
            .run("bash", args(json!({"command": command})), |_| {}, &cancel);
        let time = Duration::from_millis(round * 13);
        assert!(tokio::time::timeout(time, running).await.is_err());
        until("all are gone", || {
            processes_in(bench.folder.path()).is_empty()
        })
        .await;
    }
    // What it was about to keep is not kept: nobody was told.
    let output = bench.outside("scratch/output");
    until("no output is left", || {
        std::fs::read_dir(&output).map_or(0, Iterator::count) == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_stops_at_once_and_writing_tells_the_truth() {
    let bench = Bench::new();
    // Larger than could be read through: all of it is one line of NULs after some text.
    bench.put("huge", "x".repeat(9000));
    let file = std::fs::File::options()
        .write(true)
        .open(bench.at("huge"))
        .expect("opened");
    file.set_len(1 << 40).expect("grown");
    let cancel = CancellationToken::new();
    let with = args(json!({"path": "huge", "offset": 2}));
    let reading = bench.toolbox.run("read", with, |_| {}, &cancel);
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let (outcome, ()) = within("read", async { tokio::join!(reading, cancelling) }).await;
    assert_eq!(outcome.expect("built in").status, ToolStatus::Cancelled);

    for round in 0..50_u64 {
        let cancel = CancellationToken::new();
        let content = format!("{round}\n").repeat(10_000);
        let with = args(json!({"path": "file", "content": content}));
        let writing = bench.toolbox.run("write", with, |_| {}, &cancel);
        let cancelling = async {
            tokio::time::sleep(Duration::from_micros(round * 37)).await;
            cancel.cancel();
        };
        let (outcome, ()) = within("write", async { tokio::join!(writing, cancelling) }).await;
        let is_written = outcome.expect("built in").status == ToolStatus::Completed;
        let now = std::fs::read(bench.at("file")).unwrap_or_default();
        assert_eq!(now == content.as_bytes(), is_written);
    }
    bench.nothing_left();
}
