//! What the tests share: where things are, and how a missing thing is said.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the workspace")
        .to_owned()
}

/// A folder of the user's documents beside the project, or `None`, said aloud, where they are not.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = root().parent()?.join("shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    skipped(&format!("../shared/{folder} not found"));
    None
}

/// Says that a test did not run. On CI nothing that the project installs itself may be missing.
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

/// The objects of an NDJSON text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
}
