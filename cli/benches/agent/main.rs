//! Measures the agent: the loop for one turn, and the path from a provider's socket to a pipe.
//!
//! `cargo bench -p zot-cli --bench agent`.

#[path = "../row.rs"]
mod row;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use zot_host::{
    Prompt, Runtime, RuntimeConfig,
    home::Home,
    provider::{Catalogue, Demo, Resolved},
    session::Choice,
};

use row::{head, line, median};

const TURNS: usize = 200;
const DELTAS: usize = 100_000;

fn main() {
    // Cargo also runs benches in `cargo test --all-targets`, where one round shows that they work.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        9
    } else {
        1
    };
    head("the agent");
    let turn = median((0..rounds).map(|_| turn()).collect());
    line(
        "one turn: demo model, no tools, session on",
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
}

/// Measures the microseconds from a prompt to its `done`, in one stored conversation.
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

/// Measures from the server's first byte to the last delta in the pipe.
fn deltas_per_second() -> f64 {
    let folder = tempfile::tempdir().expect("create a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let base = format!(
        "http://{}/v1",
        listener.local_addr().expect("read the address")
    );
    let server = thread::spawn(move || serve(&listener));
    let mut zot = Command::new(env!("CARGO_BIN_EXE_zot"))
        .args(["--provider", "openai", "--model", "m", "--api-key", "k"])
        .args(["--base-url", &base, "--no-ext", "--json", "hello"])
        .env("ZOT_HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
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
    let began = server.join().expect("the server thread succeeds");
    #[expect(clippy::cast_precision_loss, reason = "shown to people")]
    let count = DELTAS as f64;
    count / (last.expect("all deltas arrived") - began).as_secs_f64()
}

/// Answers one request. Returns when it began to answer.
fn serve(listener: &TcpListener) -> Instant {
    let piece = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
    let mut body = piece.repeat(DELTAS);
    body.push_str(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    let (mut stream, _) = listener.accept().expect("accept a client");
    let mut reader = BufReader::new(stream.try_clone().expect("clone the stream"));
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).expect("read a line") > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("parse the length");
        }
        line.clear();
    }
    let mut request = vec![0; length];
    reader.read_exact(&mut request).expect("read the body");
    let began = Instant::now();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream
        .write_all(head.as_bytes())
        .expect("write the response");
    stream
        .write_all(body.as_bytes())
        .expect("write the response");
    began
}
