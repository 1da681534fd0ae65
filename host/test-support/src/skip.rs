//! Finds the programs that tests need, and skips a test if one is missing.
//!
//! Cargo hides what passing tests print, so each skipped test is also appended to the file given in
//! `ZOT_SKIPPED`. `.ci/test` prints that file at the end.

use std::{
    env,
    ffi::OsString,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    thread,
};

/// Programs that may be missing on CI.
const OPTIONAL: [&str; 2] = ["go", "chromium"];

/// Returns whether a program is installed. If it is not, reports the test as skipped.
///
/// # Panics
/// On CI (`ZOT_CI` is set), unless the program is optional: `.ci/setup` installs the others.
pub fn has(program: &str) -> bool {
    find(program).is_some()
}

/// Returns the path of a program, or reports the test as skipped.
///
/// # Panics
/// If the program is missing on CI and is not optional.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    if found.is_none() {
        missing(program);
    }
    found
}

/// Returns the path of the Python interpreter itself, or reports the test as skipped. `python3` on
/// `PATH` may be a version manager's shim, which takes longer to start than Python.
pub fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| {
        let mut python = Command::new("python3");
        let asked = python.args(["-c", "import sys; print(sys.executable)"]);
        let output = asked.output().ok().filter(|it| it.status.success())?.stdout;
        Some(String::from_utf8(output).ok()?.trim().to_owned())
    });
    if python.is_none() {
        missing("python3");
    }
    python.as_deref()
}

/// Returns `PATH` with the folder of [`python`] first.
pub fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let first = python().and_then(|python| Path::new(python).parent().map(Path::to_owned));
    let folders = first.into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).expect("the folders come from PATH")
}

/// Reports the test as skipped, because something that `.ci/setup` installs is missing.
///
/// # Panics
/// On CI, unless `what` is optional.
pub fn missing(what: &str) {
    report(&format!("{what} not found"));
    let is_allowed = env::var_os("ZOT_CI").is_none() || OPTIONAL.contains(&what);
    assert!(is_allowed, "{what} is required on CI");
}

/// Reports the test as skipped, because this kernel or container does not support what it needs.
pub fn unsupported(why: impl std::fmt::Display) {
    report(&why.to_string());
}

fn report(why: &str) {
    eprintln!("skipped: {why}");
    let Some(file) = env::var_os("ZOT_SKIPPED") else {
        return;
    };
    let thread = thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    let appended = OpenOptions::new().create(true).append(true).open(file);
    appended
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("ZOT_SKIPPED names a writable file");
}
