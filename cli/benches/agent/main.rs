//! Measures the agent: the latency of one turn, the cost of a step as the conversation grows, the
//! first request, and the throughput from a provider's socket to a pipe.
//!
//! `cargo bench -p zot-cli --bench agent`.

mod first_request;
#[path = "../row.rs"]
mod row;
mod server;
mod steps;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    time::Instant,
};

use zot_host::{
    Prompt, Runtime, RuntimeConfig,
    home::Home,
    provider::{Catalogue, Demo, Resolved},
    session::Choice,
};
use zot_test_support::http::Server;

use row::{head, line, median};

const TURNS: usize = 200;
const DELTAS: usize = 100_000;

fn main() {
    if std::env::args().any(|arg| arg == "--guard") {
        return steps::guard();
    }
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        9
    } else {
        1
    };
    head("the agent");
    let turn = median((0..rounds).map(|_| turn()).collect());
    line(
        "one turn: demo model, no tools, saved session",
        "<= 500 us",
        &format!("{turn:.0} us"),
        turn <= 500.0,
        "",
    );
    let deltas = median((0..rounds).map(|_| deltas_per_second()).collect());
    line(
        "deltas from a provider's socket through --json to a pipe",
        ">= 300000/s",
        &format!("{deltas:.0}/s"),
        deltas >= 300_000.0,
        "",
    );
    first_request::print(rounds);
    steps::print(rounds.min(5));
}

/// Measures the time in microseconds from a prompt to its `done` event, in a saved session.
fn turn() -> f64 {
    let folder = tempfile::tempdir().expect("create a directory");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("build the runtime");
    runtime.block_on(async {
        let demo = Resolved {
            provider: Box::new(Demo::new()),
            model: Catalogue::built_in().model("demo", "demo"),
        };
        let mut config = RuntimeConfig::new(Home::at(folder.path()), folder.path(), demo);
        config.session = Choice::New;
        let agent = Runtime::new(config).expect("start the agent");
        let mut times = Vec::with_capacity(TURNS);
        for _ in 0..TURNS {
            let start = Instant::now();
            let mut events = agent
                .prompt(Prompt::text("hello"))
                .expect("the agent is idle");
            while events.next().await.is_some() {}
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        agent.close().await;
        median(times)
    })
}

/// Measures the throughput in deltas per second, from the server's first byte to the last delta in
/// the pipe.
fn deltas_per_second() -> f64 {
    let folder = tempfile::tempdir().expect("create a directory");
    let (stream, (starting, began)) = (stream(), mpsc::channel());
    let server = Server::start(move |_, response| {
        starting.send(Instant::now()).expect("the bench is running");
        response.send("200 OK\ncontent-type: text/event-stream", stream.as_bytes())
    });
    let base = format!("{}/v1", server.url());
    let mut zot = Command::new(env!("CARGO_BIN_EXE_zot"))
        .args(["--provider", "openai", "--model", "m", "--api-key", "k"])
        .args(["--base-url", &base, "--no-ext", "--json", "hello"])
        .env("ZOT_HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start zot");
    let mut out = BufReader::with_capacity(1 << 20, zot.stdout.take().expect("stdout is piped"));
    let (mut line, mut count, mut last) = (Vec::new(), 0, None);
    while out.read_until(b'\n', &mut line).expect("read a line") > 0 {
        if line.starts_with(b"{\"type\":\"text_delta\"") {
            count += 1;
            if count == DELTAS {
                last = Some(Instant::now());
            }
        }
        line.clear();
    }
    assert!(zot.wait().expect("wait for zot").success());
    let began = began.recv().expect("zot sent a request");
    #[expect(clippy::cast_precision_loss, reason = "100,000 is exact as an f64")]
    let count = DELTAS as f64;
    count / (last.expect("all deltas arrived") - began).as_secs_f64()
}

/// Returns a stream with `DELTAS` text deltas.
fn stream() -> String {
    let piece = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    piece.repeat(DELTAS) + last
}
