//! What several tests use.

/// Says aloud that a test did not run. On CI that is a failure.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    assert!(
        std::env::var_os("ZOT_CI").is_none(),
        "not to be skipped on CI: {why}"
    );
}
