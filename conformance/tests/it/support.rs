//! What several tests use.

/// Says aloud that a test did not run. On CI only a short list of reasons is accepted.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    // The browser is installed by .ci/full alone.
    let expected = ["chromium"];
    if std::env::var_os("ZOT_CI").is_some() {
        assert!(
            expected.iter().any(|known| why.starts_with(known)),
            "not to be skipped on CI: {why}"
        );
    }
}
