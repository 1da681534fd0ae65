//! A tool call, and a chain of ten.

use std::time::{Duration, Instant};

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
/// Between two calls, as a user has them: long enough for a core to fall asleep, which then must be woken.
const PAUSE: Duration = Duration::from_millis(1);

const CALL: &str =
    "{\"type\":\"tool_call\",\"id\":\"1\",\"name\":\"echo\",\"args\":{\"command\":\"ls\"}}\n";
const ASK: &str = "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"tool_call\",\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"ls\"}}\n";

fn args() -> Object {
    let args = json!({"command": "ls"});
    args.as_object().expect("an object").clone()
}

/// The times of `count` calls, with a pause before each.
pub(crate) async fn times_of_calls(host: Host, count: usize, pause: Duration) -> Vec<f64> {
    let args = args();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        rest(pause).await;
        let args = args.clone();
        let start = Instant::now();
        let result = host.tool("echo", args, |_| {}).await;
        times.push(start.elapsed().as_secs_f64());
        result.expect("answers");
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
        outcome.result.expect("allowed");
    }
    times
}

async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// The times of the same work without a host.
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

/// As a user has them; on one core, where only the work counts, one right after the other.
pub(crate) fn calls(bench: &Bench) -> Vec<Round> {
    calls_with(bench, if bench.pinned { Duration::ZERO } else { PAUSE })
}

/// One right after the other, with both cores awake.
pub(crate) fn calls_at_once(bench: &Bench) -> Vec<Round> {
    calls_with(bench, Duration::ZERO)
}

fn calls_with(bench: &Bench, pause: Duration) -> Vec<Round> {
    let host = bench.loaded(1);
    let mut bare = Bare::ready(1);
    let round = |_| {
        let floor = times(CALLS, pause, || bare[0].ask(CALL));
        let hosted = bench.spawn(times_of_calls(host.clone(), CALLS, pause));
        (median(hosted), median(floor))
    };
    let rounds = (0..bench.rounds).map(round).collect();
    bare.into_iter().for_each(Bare::end);
    bench.runtime.block_on(host.shutdown());
    rounds
}

pub(crate) fn chains(bench: &Bench) -> Vec<Round> {
    let pause = if bench.pinned { Duration::ZERO } else { PAUSE };
    let host = bench.loaded(10);
    let mut bare = Bare::ready(10);
    let round = |_| {
        let ask_all = || bare.iter_mut().for_each(|bare| bare.ask(ASK));
        let floor = times(CHAINS, pause, ask_all);
        let hosted = bench.spawn(times_of_chains(host.clone(), pause));
        (median(hosted), median(floor))
    };
    let rounds = (0..bench.rounds).map(round).collect();
    bare.into_iter().for_each(Bare::end);
    bench.runtime.block_on(host.shutdown());
    rounds
}
