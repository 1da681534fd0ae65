//! Round trips: a single tool call, and a chain of ten interceptors.

use std::time::{Duration, Instant};

use serde_json::json;
use zot_host::Host;
use zot_protocol::{Object, ToolCallIntercept};

use super::{
    Bench,
    bare::Bare,
    cores::Cores,
    table::{Round, median},
};

const CALLS: usize = 100;
const CHAINS: usize = 30;
/// Long enough for a core to go to sleep.
const PAUSE: Duration = Duration::from_millis(1);

const CALL: &str =
    "{\"type\":\"tool_call\",\"id\":\"1\",\"name\":\"echo\",\"args\":{\"command\":\"ls\"}}\n";
const ASK: &str = "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"tool_call\",\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"ls\"}}\n";

fn args() -> Object {
    let args = json!({"command": "ls"});
    args.as_object().unwrap().clone()
}

/// Returns the duration of each of `count` calls, with a pause before each.
pub(crate) async fn times_of_calls(host: Host, count: usize, pause: Duration) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        rest(pause).await;
        let args = args.clone();
        let start = Instant::now();
        let result = host.tool("echo", args, |_| {}).await;
        times.push(start.elapsed().as_secs_f64());
        result.expect("the extension answers");
    }
    times
}

async fn times_of_chains(host: Host, pause: Duration) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(CHAINS);
    for _ in 0..CHAINS {
        rest(pause).await;
        let call = ToolCallIntercept::new("bash", args.clone());
        let start = Instant::now();
        let outcome = host.intercept(call.into()).await;
        times.push(start.elapsed().as_secs_f64());
        outcome.result.expect("the call is allowed");
    }
    times
}

async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// Returns the durations of the same work without a host.
fn times(count: usize, pause: Duration, mut work: impl FnMut()) -> Vec<f64> {
    let timed = (0..count).map(|_| {
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    timed.collect()
}

/// Calls in quick succession, on any cores.
pub(crate) fn calls(bench: &Bench) -> Vec<Round> {
    calls_on(bench, Cores::Any, Duration::ZERO)
}

/// Calls to a sleeping core, which must be woken each time.
pub(crate) fn calls_apart(bench: &Bench) -> Vec<Round> {
    calls_on(bench, Cores::Apart, PAUSE)
}

/// Calls after a pause, on any cores.
pub(crate) fn calls_after_a_pause(bench: &Bench) -> Vec<Round> {
    calls_on(bench, Cores::Any, PAUSE)
}

pub(crate) fn chains(bench: &Bench) -> Vec<Round> {
    chains_on(bench, Cores::Any, Duration::ZERO)
}

pub(crate) fn chains_apart(bench: &Bench) -> Vec<Round> {
    chains_on(bench, Cores::Apart, PAUSE)
}

pub(crate) fn chains_after_a_pause(bench: &Bench) -> Vec<Round> {
    chains_on(bench, Cores::Any, PAUSE)
}

fn calls_on(bench: &Bench, cores: Cores, pause: Duration) -> Vec<Round> {
    rounds(bench, 1, cores, |host, bare| {
        let floor = times(CALLS, pause, || bare[0].ask(CALL));
        let hosted = bench.spawn(times_of_calls(host, CALLS, pause));
        (median(hosted), median(floor))
    })
}

fn chains_on(bench: &Bench, cores: Cores, pause: Duration) -> Vec<Round> {
    rounds(bench, 10, cores, |host, bare| {
        let ask_all = || bare.iter_mut().for_each(|bare| bare.ask(ASK));
        let floor = times(CHAINS, pause, ask_all);
        let hosted = bench.spawn(times_of_chains(host, pause));
        (median(hosted), median(floor))
    })
}

/// Runs rounds with `extensions` extensions each. Every round starts new processes, because the
/// scheduler decides on a placement early and keeps it. Returns no rounds if the machine has too
/// few cores.
fn rounds(
    bench: &Bench,
    extensions: usize,
    cores: Cores,
    round: impl Fn(Host, &mut [Bare]) -> Round,
) -> Vec<Round> {
    let one = |_| {
        let host = bench.loaded(extensions, cores);
        let mut bare = Bare::ready(extensions, cores);
        let kept = cores.keep();
        let times = round(host.clone(), &mut bare);
        drop(kept);
        bare.into_iter().for_each(Bare::end);
        bench.runtime.block_on(host.shutdown());
        times
    };
    let count = if cores.are_there() { bench.rounds } else { 0 };
    (0..count).map(one).collect()
}
