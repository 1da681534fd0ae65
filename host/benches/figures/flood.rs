//! Tool call latency while another extension floods the host with notifications.

use std::process::{Command, Stdio};

use super::{
    Bench,
    round_trips::times_of_calls,
    table::{Round, quantile},
    this,
};

const CALLS: usize = 2000;

pub(crate) fn beside(bench: &Bench) -> Vec<Round> {
    let round = |_| {
        let quiet = bench.loaded(1);
        let mut busy = Command::new(this())
            .arg("--spin")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let floor = bench.runtime.block_on(times_of_calls(quiet.clone(), CALLS));
        busy.kill().and_then(|()| busy.wait()).unwrap();
        bench.runtime.block_on(quiet.shutdown());

        let host = bench.host();
        let mut launches = bench.launches(1);
        launches.push(bench.launch("flood", &["--echo", "--flood"]));
        let stats = bench.runtime.block_on(host.load(launches));
        assert_eq!(stats.ready, 2, "{stats:?}");
        let flooded = bench.runtime.block_on(times_of_calls(host.clone(), CALLS));
        bench.runtime.block_on(host.shutdown());
        (quantile(flooded, 0.99), quantile(floor, 0.99))
    };
    (0..bench.rounds.div_ceil(2)).map(round).collect()
}
