//! Helpers shared by the tests.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the workspace")
        .to_owned()
}

/// Returns a folder next to the repository. If it does not exist, reports the test as skipped and
/// returns `None`.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = root().parent()?.join("shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    skipped(&format!("../shared/{folder} not found"));
    None
}

/// Reports that a test was skipped. On CI, only a missing `../shared` may be the reason.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    let expected = ["../shared"];
    if std::env::var_os("ZOT_CI").is_some() {
        assert!(
            expected.iter().any(|known| why.starts_with(known)),
            "not to be skipped on CI: {why}"
        );
    }
}

/// Parses each line of an NDJSON text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
}
