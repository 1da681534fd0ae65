//! Round trips: a single tool call, and a chain of ten interceptors.

use std::time::Instant;

use serde_json::json;
use zot_host::Host;
use zot_protocol::{Object, ToolCallIntercept};

use super::{
    Bench,
    bare::Bare,
    table::{Round, median},
};

const CALLS: usize = 100;
const CHAINS: usize = 30;

const CALL: &str =
    "{\"type\":\"tool_call\",\"id\":\"1\",\"name\":\"echo\",\"args\":{\"command\":\"ls\"}}\n";
const ASK: &str = "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"tool_call\",\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"ls\"}}\n";

fn args() -> Object {
    let args = json!({"command": "ls"});
    args.as_object().unwrap().clone()
}

/// Returns the duration of each of `count` calls.
pub(crate) async fn times_of_calls(host: Host, count: usize) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let args = args.clone();
        let start = Instant::now();
        let result = host.tool("echo", args, |_| {}).await;
        times.push(start.elapsed().as_secs_f64());
        result.expect("the extension answers");
    }
    times
}

async fn times_of_chains(host: Host) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(CHAINS);
    for _ in 0..CHAINS {
        let call = ToolCallIntercept::new("bash", args.clone());
        let start = Instant::now();
        let outcome = host.intercept(call.into()).await;
        times.push(start.elapsed().as_secs_f64());
        outcome.result.expect("the call is allowed");
    }
    times
}

/// Runs `work` repeatedly and returns the duration of each run. Measures the baseline.
fn times(count: usize, mut work: impl FnMut()) -> Vec<f64> {
    let timed = (0..count).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    timed.collect()
}

pub(crate) fn calls(bench: &Bench) -> Vec<Round> {
    rounds(bench, 1, |host, bare| {
        let floor = times(CALLS, || bare[0].ask(CALL));
        let hosted = bench.runtime.block_on(times_of_calls(host, CALLS));
        (median(hosted), median(floor))
    })
}

pub(crate) fn chains(bench: &Bench) -> Vec<Round> {
    rounds(bench, 10, |host, bare| {
        let ask_all = || bare.iter_mut().for_each(|bare| bare.ask(ASK));
        let floor = times(CHAINS, ask_all);
        let hosted = bench.runtime.block_on(times_of_chains(host));
        (median(hosted), median(floor))
    })
}

/// Runs the rounds. Each one starts new processes, because the scheduler chooses a core for a
/// process early and rarely changes it.
fn rounds(
    bench: &Bench,
    extensions: usize,
    round: impl Fn(Host, &mut [Bare]) -> Round,
) -> Vec<Round> {
    let one = |_| {
        let host = bench.loaded(extensions);
        let mut bare = Bare::ready(extensions);
        let times = round(host.clone(), &mut bare);
        bare.into_iter().for_each(Bare::end);
        bench.runtime.block_on(host.shutdown());
        times
    };
    (0..bench.rounds).map(one).collect()
}
