//! Runs individual tests in their own process, which is another copy of this test binary.

use std::process::{Command, Stdio};

/// Environment variable that names the test that this copy should run.
const ALONE: &str = "ZOT_HOST_TEST_ALONE";
/// Environment variable that holds the path of the Python interpreter, so that a copy need not
/// search for it.
pub(super) const PYTHON: &str = "ZOT_HOST_TEST_PYTHON";
/// Timeout for a test in its own process.
const TOO_LONG: std::time::Duration = std::time::Duration::from_secs(300);

/// Returns the path of the test that contains the closure `here`.
pub(crate) fn path_of<F>(_here: &F) -> &'static str {
    let path = std::any::type_name::<F>();
    let (_, path) = path.split_once("::").unwrap();
    path.split_once("::{{closure}}")
        .map_or(path, |(test, _)| test)
}

/// Returns a command that runs one test in a new copy of this binary.
pub(crate) fn rerun(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(ALONE, test)
        .env(PYTHON, super::python())
        .stdin(Stdio::null());
    command
}

/// Returns `false` in the copy that should run `test`. Otherwise runs the test in a new copy and
/// returns `true` after it has passed.
pub(crate) fn passed_in_own_process(test: &str) -> bool {
    if is_helper_process(test) {
        std::thread::spawn(|| {
            std::thread::sleep(TOO_LONG);
            eprintln!("timed out");
            std::process::abort();
        });
        return false;
    }
    let output = rerun(test).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

/// Reports whether this process was started to run only the test `part`.
pub(crate) fn is_helper_process(part: &str) -> bool {
    std::env::var(ALONE).as_deref() == Ok(part)
}

/// Runs the rest of the test in its own process, so that it can count its processes and
/// descriptors.
macro_rules! run_in_own_process {
    () => {
        if $crate::support::passed_in_own_process($crate::support::path_of(&|| {})) {
            return;
        }
    };
}
pub(crate) use run_in_own_process;
