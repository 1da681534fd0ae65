//! Starting fifty extensions, from spawn until all are ready.

use std::time::Instant;

use zot_protocol::Permissions;

use super::{Bench, bare::Bare, table::Round};

const EXTENSIONS: u32 = 50;

/// Measures the start of fifty extensions, compared with fifty extensions on bare pipes.
pub(crate) fn fifty(bench: &Bench) -> Vec<Round> {
    let round = |_| {
        let start = Instant::now();
        let bare = Bare::ready(EXTENSIONS as usize);
        let floor = start.elapsed().as_secs_f64();
        bare.into_iter().for_each(Bare::end);
        (hosted(bench, None), floor)
    };
    (0..bench.rounds.div_ceil(4)).map(round).collect()
}

/// Measures the start time per extension with the narrowest permissions, compared with no
/// permissions.
pub(crate) fn confined(bench: &Bench) -> Vec<Round> {
    let narrow = Permissions::default();
    let each = |permissions| hosted(bench, permissions) / f64::from(EXTENSIONS);
    let round = |_| (each(Some(&narrow)), each(None));
    (0..bench.rounds.div_ceil(4)).map(round).collect()
}

fn hosted(bench: &Bench, permissions: Option<&Permissions>) -> f64 {
    let host = bench.host();
    let mut launches = bench.launches(EXTENSIONS as usize);
    for launch in &mut launches {
        launch.manifest.permissions = permissions.cloned();
    }
    let start = Instant::now();
    let stats = bench.runtime.block_on(host.load(launches));
    let taken = start.elapsed().as_secs_f64();
    assert_eq!(stats.ready, u64::from(EXTENSIONS), "{stats:?}");
    bench.runtime.block_on(host.shutdown());
    taken
}
