//! Fifty extensions from nothing to all ready.

use std::time::Instant;

use super::{Bench, bare::Bare, table::Round};

const EXTENSIONS: usize = 50;

pub(crate) fn fifty(bench: &Bench) -> Vec<Round> {
    let round = |_| {
        let start = Instant::now();
        let bare = Bare::ready(EXTENSIONS);
        let floor = start.elapsed().as_secs_f64();
        bare.into_iter().for_each(Bare::end);

        let host = bench.host();
        let launches = bench.launches(EXTENSIONS);
        let start = Instant::now();
        let stats = bench.runtime.block_on(host.load(launches));
        let hosted = start.elapsed().as_secs_f64();
        assert_eq!(stats.ready, EXTENSIONS as u64, "{stats:?}");
        bench.runtime.block_on(host.shutdown());
        (hosted, floor)
    };
    (0..bench.rounds.div_ceil(4)).map(round).collect()
}
