//! A tool call, and a chain of ten.

use std::time::Instant;

use serde_json::json;
use zot_host::Host;
use zot_protocol::{Object, ToolCallIntercept};

use super::{
    Bench,
    bare::Bare,
    table::{Round, median},
};

const CALLS: usize = 200;
const CHAINS: usize = 50;

const CALL: &str =
    "{\"type\":\"tool_call\",\"id\":\"1\",\"name\":\"echo\",\"args\":{\"command\":\"ls\"}}\n";
const ASK: &str = "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"tool_call\",\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"ls\"}}\n";

fn args() -> Object {
    let args = json!({"command": "ls"});
    args.as_object().expect("an object").clone()
}

/// The times of `count` calls, one after the other.
pub(crate) async fn times_of_calls(host: Host, count: usize) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        let result = host.tool("echo", args.clone(), |_| {}).await;
        result.expect("answers");
        times.push(start.elapsed().as_secs_f64());
    }
    times
}

pub(crate) fn calls(bench: &Bench) -> Vec<Round> {
    let host = bench.loaded(1);
    let mut bare = Bare::ready(1);
    let round = |_| {
        let floor = times(CALLS, || bare[0].ask(CALL));
        let hosted = bench.spawn(times_of_calls(host.clone(), CALLS));
        (median(hosted), median(floor))
    };
    let rounds = (0..bench.rounds).map(round).collect();
    bare.into_iter().for_each(Bare::end);
    bench.runtime.block_on(host.shutdown());
    rounds
}

pub(crate) fn chains(bench: &Bench) -> Vec<Round> {
    let host = bench.loaded(10);
    let mut bare = Bare::ready(10);
    let round = |_| {
        let floor = times(CHAINS, || bare.iter_mut().for_each(|bare| bare.ask(ASK)));
        let hosted = bench.spawn(times_of_chains(host.clone()));
        (median(hosted), median(floor))
    };
    let rounds = (0..bench.rounds).map(round).collect();
    bare.into_iter().for_each(Bare::end);
    bench.runtime.block_on(host.shutdown());
    rounds
}

async fn times_of_chains(host: Host) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(CHAINS);
    for _ in 0..CHAINS {
        let start = Instant::now();
        let call = ToolCallIntercept::new("bash", args.clone());
        let outcome = host.intercept(call.into()).await;
        outcome.result.expect("allowed");
        times.push(start.elapsed().as_secs_f64());
    }
    times
}

fn times(count: usize, mut work: impl FnMut()) -> Vec<f64> {
    let timed = (0..count).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    timed.collect()
}
