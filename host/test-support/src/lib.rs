//! Test support shared by several crates: skipping tests, an HTTP server, and recorded frames.

pub mod http;
pub mod recordings;
pub mod skip;

use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate is two folders below the root")
}

/// Returns the path of a fixture in this crate.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

/// Returns the factor by which to extend the soak tests. `.ci/full` raises it.
pub fn soak_factor() -> usize {
    std::env::var("ZOT_SOAK").map_or(1, |factor| factor.parse().expect("ZOT_SOAK is a number"))
}
