//! Cancelling a tool call at any point.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_protocol::ToolStatus;

use super::{ToolFixture, has, text_of};
use crate::support::{args, processes_in, soak_factor, until, within};

/// A command that forks, leaves its process group and ignores signals.
const TREE: &str = "echo begun; (setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.01; done' &) \
                    ; (sleep 600 | sleep 600) & for n in 1 2 3 4 5; do (sleep 600 &); done; sleep 600";

/// Runs 20 rounds. `.ci/full` runs more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_command_leaves_no_process() {
    let fixture = ToolFixture::new();
    for round in 0..20 * soak_factor() as u64 {
        let cancel = CancellationToken::new();
        let running = fixture
            .toolbox
            .run("bash", args(json!({"command": TREE})), |_| {}, &cancel);
        let cancelling = async {
            // Deterministic delays, spread over the time in which the process tree starts.
            tokio::time::sleep(Duration::from_micros(round * 7919 % 60_000)).await;
            cancel.cancel();
            Instant::now()
        };
        let (outcome, since) = within("bash", async { tokio::join!(running, cancelling) }).await;
        let outcome = outcome.expect("built in");
        assert_eq!(outcome.status, ToolStatus::Cancelled);
        has(&text_of(&outcome), "cancelled");
        assert!(since.elapsed() < Duration::from_secs(10));
        if text_of(&outcome).contains("cannot kill process") {
            // The message is accurate: on a busy machine SIGKILL may take more than a second to
            // take effect.
            until("all processes have exited", || {
                processes_in(fixture.folder.path()).is_empty()
            })
            .await;
        }
        fixture.check_nothing_left();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_leaves_no_process_and_no_output() {
    let fixture = ToolFixture::new();
    for round in 0..10 {
        let cancel = CancellationToken::new();
        let command = format!("seq 1 100000; {TREE}");
        let running =
            fixture
                .toolbox
                .run("bash", args(json!({"command": command})), |_| {}, &cancel);
        let time = Duration::from_millis(round * 13);
        assert!(tokio::time::timeout(time, running).await.is_err());
        until("all processes have exited", || {
            processes_in(fixture.folder.path()).is_empty()
        })
        .await;
    }
    // The caller never received the path of the stored output, so the output is removed.
    let output = fixture.outside("scratch/output");
    until("no output is left", || {
        std::fs::read_dir(&output).map_or(0, Iterator::count) == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_stops_a_read_and_reports_whether_a_write_happened() {
    let fixture = ToolFixture::new();
    // Far too large to read: some text, followed by a single line of NUL bytes.
    fixture.put("huge", "x".repeat(9000));
    let file = std::fs::File::options()
        .write(true)
        .open(fixture.at("huge"))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    let cancel = CancellationToken::new();
    let with = args(json!({"path": "huge", "offset": 2}));
    let reading = fixture.toolbox.run("read", with, |_| {}, &cancel);
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
        let writing = fixture.toolbox.run("write", with, |_| {}, &cancel);
        let cancelling = async {
            tokio::time::sleep(Duration::from_micros(round * 37)).await;
            cancel.cancel();
        };
        let (outcome, ()) = within("write", async { tokio::join!(writing, cancelling) }).await;
        let is_written = outcome.expect("built in").status == ToolStatus::Completed;
        let now = std::fs::read(fixture.at("file")).unwrap_or_default();
        assert_eq!(now == content.as_bytes(), is_written);
    }
    fixture.check_nothing_left();
}
