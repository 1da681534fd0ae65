//! The cost of one agent step (a model call and a call to `read`) as the conversation grows.
//! Everything is measured in one run, so that the machine's speed does not matter.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    row::{line, median},
    server::{self, Answer, FILE},
};

/// The lengths of the conversation in messages, and the number of steps to measure around each.
const LENGTHS: [usize; 3] = [20, 200, 2_000];
const MEASURED: usize = 16;
/// A step adds the model's message and the tool's.
const MESSAGES_PER_STEP: usize = 2;
/// The number of guards that intercept the calls in the second half of the rows.
const GUARDS: usize = 10;

/// The wall time and processor time of a step, in microseconds, at each length.
type Costs = [[f64; 2]; LENGTHS.len()];

pub(crate) fn print(rounds: usize) {
    for guards in [0, GUARDS] {
        let rounds: Vec<Costs> = (0..rounds).map(|_| measure(guards)).collect();
        for (at, length) in LENGTHS.into_iter().enumerate() {
            for (kind, what) in ["wall", "processor"].into_iter().enumerate() {
                let cost = median(rounds.iter().map(|costs| costs[at][kind]).collect());
                let ratio = rounds.iter().map(|costs| costs[at][kind] / costs[0][kind]);
                let ratio = median(ratio.collect());
                let with = if guards > 0 { ", ten guards" } else { "" };
                line(
                    &format!("a step at {length} messages{with}: {what} time, vs at 20"),
                    "<= 2x",
                    &format!("{ratio:.2}x"),
                    ratio <= 2.0,
                    &format!("{cost:.0} us"),
                );
            }
        }
    }
}

/// When a request arrived, and how much processor time zot had used up to that point.
struct Arrival {
    at: Instant,
    processor: Duration,
}

fn measure(guards: usize) -> Costs {
    let folder = tempfile::tempdir().expect("create a directory");
    fs::write(folder.path().join(FILE), "Buy milk, and two lemons.\n").expect("write a file");
    let steps = LENGTHS[LENGTHS.len() - 1] / MESSAGES_PER_STEP + MEASURED;
    let (pid, pid_of_zot) = mpsc::channel::<u32>();
    let (arriving, arrivals) = mpsc::channel();
    let known = std::cell::OnceCell::new();
    let port = server::start(
        move |_| {
            let pid = *known.get_or_init(|| pid_of_zot.recv().expect("zot has started"));
            let processor = processor_time(pid);
            // Sending fails only if the benchmark has already ended.
            let _ = arriving.send(Arrival {
                at: Instant::now(),
                processor,
            });
        },
        move |number| {
            if number < steps {
                Answer::Call(number)
            } else {
                Answer::Text
            }
        },
    );
    let mut zot = start(folder.path(), port, guards);
    pid.send(zot.id()).expect("the server is running");
    let mut input = zot.stdin.take().expect("stdin is piped");
    let output = zot.stdout.take().expect("stdout is piped");
    writeln!(input, "{}", json!({"type": "prompt", "message": "go"})).expect("write a command");
    let mut lines = BufReader::new(output).lines();
    let is_done = |line: &String| line.starts_with("{\"type\":\"done\"");
    let last = lines.by_ref().map_while(Result::ok).find(is_done);
    assert!(last.is_some(), "zot ended before `done`");
    drop(input);
    assert!(zot.wait().expect("wait for zot").success());
    let arrivals: Vec<Arrival> = arrivals.try_iter().collect();
    LENGTHS.map(|length| {
        let middle = length / MESSAGES_PER_STEP;
        let from = middle.saturating_sub(MEASURED / 2).max(1);
        let steps = &arrivals[from..=from + MEASURED];
        let wall = steps.array_windows().map(|[a, b]| micros(b.at - a.at));
        // The kernel adds a thread's time only when it deschedules the thread, so the time of a
        // single step would be inaccurate.
        let processor = steps[MEASURED].processor.saturating_sub(steps[0].processor);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let processor = micros(processor) / MEASURED as f64;
        [median(wall.collect()), processor]
    })
}

fn start(folder: &Path, port: u16, guards: usize) -> Child {
    let mut zot = Command::new(env!("CARGO_BIN_EXE_zot"));
    zot.args(["rpc", "--provider", "openai", "--model", "m"])
        .args(["--api-key", "k", "--base-url"])
        .arg(format!("http://127.0.0.1:{port}/v1"))
        .env("ZOT_HOME", folder.join("home"))
        .env("ZOT_LOG", "off")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for number in 0..guards {
        let dir = folder.join(format!("guard-{number}"));
        let manifest = json!({
            "name": format!("guard-{number}"), "exec": std::env::current_exe().expect("this program"),
            "args": ["--guard"],
        });
        fs::create_dir(&dir).expect("create a directory");
        fs::write(dir.join("extension.json"), manifest.to_string()).expect("write a manifest");
        zot.arg("-e").arg(dir);
    }
    zot.spawn().expect("start zot")
}

/// Returns the processor time of all threads of a process.
fn processor_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let times = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
    Duration::from_nanos(times.sum())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Runs as an extension that rewrites the arguments of each tool call.
pub(crate) fn guard() {
    println!(r#"{{"type":"hello","name":"guard","capabilities":["events"]}}"#);
    println!(r#"{{"type":"subscribe","intercept":["tool_call"]}}"#);
    println!(r#"{{"type":"ready"}}"#);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let frame: serde_json::Value = serde_json::from_str(&line).expect("a frame");
        if frame["type"] == "event_intercept" {
            let answer = json!({
                "type": "event_intercept_response", "id": frame["id"], "modified_args": frame["tool_args"],
            });
            println!("{answer}");
        } else if frame["type"] == "shutdown" {
            return;
        }
    }
}
