//! A tool call, and a chain of ten.

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

/// The other side on a core that has fallen asleep; where all are pinned to one core, right after each other, so that only
/// the work counts.
pub(crate) fn calls(bench: &Bench) -> Vec<Round> {
    calls_on(bench, cores(bench))
}

pub(crate) fn calls_anywhere(bench: &Bench) -> Vec<Round> {
    calls_on(bench, Cores::Any)
}

/// As [`calls`].
pub(crate) fn chains(bench: &Bench) -> Vec<Round> {
    chains_on(bench, cores(bench))
}

pub(crate) fn chains_anywhere(bench: &Bench) -> Vec<Round> {
    chains_on(bench, Cores::Any)
}

fn cores(bench: &Bench) -> Cores {
    if bench.pinned || !Cores::Apart.are_there() {
        Cores::Any
    } else {
        Cores::Apart
    }
}

fn pause(bench: &Bench) -> Duration {
    if bench.pinned { Duration::ZERO } else { PAUSE }
}

fn calls_on(bench: &Bench, cores: Cores) -> Vec<Round> {
    let pause = pause(bench);
    let host = bench.loaded(1, cores);
    let mut bare = Bare::ready(1, cores);
    let _kept = cores.keep();
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

fn chains_on(bench: &Bench, cores: Cores) -> Vec<Round> {
    let pause = pause(bench);
    let host = bench.loaded(10, cores);
    let mut bare = Bare::ready(10, cores);
    let _kept = cores.keep();
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
