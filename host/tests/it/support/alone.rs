//! Tests in a process of their own: this binary again, with one test.

use std::process::{Command, Stdio};

/// The test that a copy of this binary was started for.
const ALONE: &str = "ZOT_HOST_TEST_ALONE";
/// The interpreter, which a copy need not look for again.
pub(super) const PYTHON: &str = "ZOT_HOST_TEST_PYTHON";
/// A copy that takes longer hangs.
const TOO_LONG: std::time::Duration = std::time::Duration::from_secs(300);

/// The path of the test in which `here` is a closure.
pub(crate) fn path_of<F>(_here: &F) -> &'static str {
    let path = std::any::type_name::<F>();
    let (_, path) = path.split_once("::").expect("in this crate");
    path.split_once("::{{closure}}")
        .map_or(path, |(test, _)| test)
}

/// This test binary again, to run one test of it by itself.
pub(crate) fn rerun(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(ALONE, test)
        .env(PYTHON, super::python())
        .stdin(Stdio::null());
    command
}

/// Whether the test is over here: `false` in a copy of this binary that runs nothing else, and `true` after that copy
/// has passed.
pub(crate) fn passed_alone(test: &str) -> bool {
    if is_played(test) {
        std::thread::spawn(|| {
            std::thread::sleep(TOO_LONG);
            eprintln!("hangs");
            std::process::abort();
        });
        return false;
    }
    let output = rerun(test).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{}\n{said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

/// Whether this is a copy that plays this part in a test, and not a run of all tests, ignored ones included.
pub(crate) fn is_played(part: &str) -> bool {
    std::env::var(ALONE).as_deref() == Ok(part)
}

/// Runs the rest of the test in a process of its own, where everything that is counted is its own.
macro_rules! alone {
    () => {
        if $crate::support::passed_alone($crate::support::path_of(&|| {})) {
            return;
        }
    };
}
pub(crate) use alone;
