//! The measurements.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Bench, EXTENSIONS, driven::Driven, table::Round, this};

const PING: &str = "{\"id\":\"9\",\"type\":\"ping\"}\n";
const HELLO: &str = "{\"id\":\"0\",\"type\":\"hello\"}\n";
const GET_EXTENSIONS: &str = "{\"id\":\"13\",\"type\":\"get_extensions\"}\n";

fn rpc(bench: &Bench) -> Driven {
    Driven::start(&mut bench.zot(&["rpc", "--provider", "demo"]))
}

/// Starts `zot rpc` and waits until all extensions are ready.
fn ready(bench: &Bench) -> Driven {
    let mut zot = rpc(bench);
    while zot.ask(GET_EXTENSIONS).matches("\"ready\"").count() < EXTENSIONS {
        thread::sleep(Duration::from_millis(5));
    }
    zot
}

pub(crate) fn first_answers(bench: &Bench) -> Vec<Round> {
    let round = |_| {
        let start = Instant::now();
        let mut zot = rpc(bench);
        assert!(zot.ask(HELLO).contains("protocol_version"));
        let answered = start.elapsed().as_secs_f64();
        zot.end();
        (answered, bare_start())
    };
    (0..bench.rounds).map(round).collect()
}

pub(crate) fn versions(bench: &Bench) -> Vec<Round> {
    let round = |_| (started(&mut bench.zot(&["--version"])), bare_start());
    (0..bench.rounds).map(round).collect()
}

/// Measures how long it takes to run a process that does nothing, as the baseline.
fn bare_start() -> f64 {
    started(Command::new(this()).arg("--nothing"))
}

fn started(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status();
    assert!(status.expect("run the process").success());
    start.elapsed().as_secs_f64()
}

/// Measures the memory use of `zot rpc`, and of an echo process as the baseline, in bytes.
pub(crate) fn memory(bench: &Bench) -> Vec<Round> {
    let zot = ready(bench);
    let mut echo = Driven::start(Command::new(this()).arg("--echo"));
    echo.ask(PING);
    let round = (resident(zot.pid()), resident(echo.pid()));
    zot.end();
    echo.end();
    vec![round]
}

fn resident(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is running");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.expect("VmRSS is present")
        .parse::<f64>()
        .expect("parse VmRSS")
        * 1024.0
}
