//! What the host costs: a tool call, a chain of ten and the start of fifty, each against the same without a host.
//!
//! `cargo bench -p zot-host` prints the table twice: as a user has it, and pinned to one core, where the host's own
//! work shows. Rounds of host and floor are interleaved, and the median of their ratios counts. The extension is this
//! same binary, started with `--echo`.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};
use zot_host::{Host, HostConfig, extension::Launch, home::Home};
use zot_protocol::{HelloAck, Manifest, ToolCallIntercept};

const ROUNDS: usize = 31;
const CALLS: usize = 200;
const STARTS: usize = 50;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|arg| arg == "--echo") {
        return echo();
    }
    // Cargo runs benches under `cargo test --all-targets` too; there, one round shows that they work.
    let measured = args.iter().any(|arg| arg == "--bench");
    let pinned = args.iter().any(|arg| arg == "--pinned");
    let rounds = if measured || pinned { ROUNDS } else { 1 };
    measure(rounds, pinned);
    if measured {
        let again = Command::new("taskset")
            .args(["-c", "0"])
            .arg(&args[0])
            .arg("--pinned")
            .status();
        if again.is_err() {
            println!("skipped: taskset not found, so nothing is pinned");
        }
    }
}

/// The extension: registers a tool, answers whatever it is asked.
fn echo() {
    let mut stdout = std::io::stdout().lock();
    let hello = concat!(
        r#"{"type":"hello","name":"echo"}"#,
        "\n",
        r#"{"type":"register_tool","name":"echo","schema":{"type":"object"}}"#,
        "\n",
        r#"{"type":"subscribe","intercept":["tool_call"]}"#,
        "\n",
        r#"{"type":"ready"}"#,
        "\n",
    );
    stdout.write_all(hello.as_bytes()).expect("written");
    for line in std::io::stdin().lock().lines() {
        let frame: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let reply = match frame["type"].as_str() {
            Some("tool_call") => {
                json!({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "ok"}]})
            }
            Some("event_intercept") => {
                json!({"type": "event_intercept_response", "id": frame["id"], "modified_args": {"command": "echo rewritten"}})
            }
            Some("shutdown") => return,
            _ => continue,
        };
        stdout
            .write_all(format!("{reply}\n").as_bytes())
            .expect("written");
    }
}

/// The floor: the same extension on a bare pipe.
struct Bare {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Bare {
    fn start() -> Self {
        let mut child = Command::new(this())
            .arg("--echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            stdin,
            stdout,
            line: String::new(),
        }
    }

    fn until_ready(&mut self) {
        while !self.line.contains("ready") {
            self.read();
        }
    }

    fn read(&mut self) {
        self.line.clear();
        self.stdout.read_line(&mut self.line).expect("a line");
    }

    fn ask(&mut self, line: &str) {
        self.stdin.write_all(line.as_bytes()).expect("written");
        self.read();
    }

    fn end(mut self) {
        drop(self.stdin);
        self.child.wait().expect("ends");
    }
}

fn this() -> PathBuf {
    std::env::current_exe().expect("known")
}

fn launches(home: &std::path::Path, count: usize) -> Vec<Launch> {
    let launch = |index: usize| {
        let mut manifest = Manifest::new(format!("echo{index}"), this().display().to_string());
        manifest.args = vec!["--echo".into()];
        Launch::new(manifest, home, this(), &Home::at(home)).expect("a data directory")
    };
    (0..count).map(launch).collect()
}

fn host() -> Host {
    Host::new(HostConfig::new(HelloAck::new(
        1, "0.1.0", "demo", "demo", "/",
    )))
    .expect("a host")
}

fn measure(rounds: usize, pinned: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let home = tempfile::tempdir().expect("a home");
    let args = json!({"command": "ls"})
        .as_object()
        .expect("an object")
        .clone();
    let call_line =
        "{\"type\":\"tool_call\",\"id\":\"1\",\"name\":\"echo\",\"args\":{\"command\":\"ls\"}}\n";
    let ask_line = "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"tool_call\",\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"ls\"}}\n";

    let (one, ten) = (host(), host());
    runtime.block_on(async {
        assert_eq!(one.load(launches(home.path(), 1)).await.ready, 1);
        assert_eq!(ten.load(launches(home.path(), 10)).await.ready, 10);
    });
    let mut bare: Vec<Bare> = (0..10).map(|_| Bare::start()).collect();
    bare.iter_mut().for_each(Bare::until_ready);

    let (mut calls, mut chains) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let floor = p50(CALLS, || bare[0].ask(call_line));
        // From a task, as an agent calls: the thread that blocks on the runtime would have to be woken besides.
        let hosted = runtime.block_on(async {
            let (one, args) = (one.clone(), args.clone());
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(CALLS);
                for _ in 0..CALLS {
                    let start = Instant::now();
                    one.tool("echo", args.clone(), |_| {})
                        .await
                        .expect("answers");
                    times.push(start.elapsed().as_secs_f64());
                }
                median(times)
            })
            .await
            .expect("runs")
        });
        calls.push((hosted, floor));

        let floor = p50(CALLS / 4, || {
            for bare in &mut bare {
                bare.ask(ask_line);
            }
        });
        let hosted = runtime.block_on(async {
            let (ten, args) = (ten.clone(), args.clone());
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(CALLS / 4);
                for _ in 0..CALLS / 4 {
                    let start = Instant::now();
                    ten.intercept(ToolCallIntercept::new("bash", args.clone()).into())
                        .await
                        .result
                        .expect("allowed");
                    times.push(start.elapsed().as_secs_f64());
                }
                median(times)
            })
            .await
            .expect("runs")
        });
        chains.push((hosted, floor));
    }
    bare.into_iter().for_each(Bare::end);

    let starts = measure_starts(rounds.div_ceil(4), &runtime, home.path());
    runtime.block_on(async {
        one.shutdown().await;
        ten.shutdown().await;
    });

    let how = if pinned {
        "pinned to one core"
    } else {
        "as a user has it"
    };
    println!(
        "{:<58} {:>9} {:>9} {:>12} {:>12}",
        format!("the host, {how}"),
        "goal",
        "ratio",
        "host",
        "floor"
    );
    let bound = if pinned { 1.6 } else { 1.15 };
    row(
        "a tool call, against the same pipe without a host",
        bound,
        &calls,
    );
    row(
        "a chain of ten rewriting, against ten bare round trips",
        bound,
        &chains,
    );
    row(
        "50 extensions to all ready, against spawning 50 bare",
        1.5,
        &starts,
    );
}

/// Fifty extensions from nothing to all ready: with a host, and bare.
fn measure_starts(
    rounds: usize,
    runtime: &tokio::runtime::Runtime,
    home: &std::path::Path,
) -> Vec<(f64, f64)> {
    let mut starts = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let mut bare: Vec<Bare> = (0..STARTS).map(|_| Bare::start()).collect();
        bare.iter_mut().for_each(Bare::until_ready);
        let floor = start.elapsed().as_secs_f64();
        bare.into_iter().for_each(Bare::end);

        let many = host();
        let start = Instant::now();
        assert_eq!(
            runtime.block_on(many.load(launches(home, STARTS))).ready,
            STARTS as u64
        );
        starts.push((start.elapsed().as_secs_f64(), floor));
        runtime.block_on(many.shutdown());
    }
    starts
}

fn p50(calls: usize, mut call: impl FnMut()) -> f64 {
    let times = (0..calls).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    });
    median(times.collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn row(what: &str, bound: f64, measured: &[(f64, f64)]) {
    let ratio = median(measured.iter().map(|(host, floor)| host / floor).collect());
    let host = median(measured.iter().map(|(host, _)| *host).collect()) * 1e6;
    let floor = median(measured.iter().map(|(_, floor)| *floor).collect()) * 1e6;
    let verdict = if ratio <= bound { "pass" } else { "MISS" };
    println!(
        "{what:<58} {:>9} {ratio:>8.2}x {host:>9.1} us {floor:>9.1} us  {verdict}",
        format!("<= {bound}x")
    );
}
