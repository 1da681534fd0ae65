//! A home of its own for each test, and what is around it.

pub(crate) mod daemon;
pub(crate) mod examples;
pub(crate) mod http;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod package;
pub(crate) mod process;
pub(crate) mod snapshot;
pub(crate) mod svg;
pub(crate) mod terminal;
pub(crate) mod traced;

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Says that a test did not run. On CI nothing that the project needs itself may be missing.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    // A container may forbid the first two to everybody; Go is one language of many.
    let expected = ["no mounts here", "no tracing here", "go not found"];
    if std::env::var_os("ZOT_CI").is_some() {
        assert!(
            expected.iter().any(|known| why.starts_with(known)),
            "not to be skipped on CI: {why}"
        );
    }
}

/// Whether there is a program; said aloud where there is none.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skipped(&format!("{program} not found"));
    }
    found
}

/// `PATH`, with Python itself before the script of a version manager that may stand for it: that takes many times as long,
/// and on a busy machine longer than zot waits for an extension.
fn search_path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let asked = Command::new("python3")
            .args([
                "-c",
                "import os, sys; print(os.path.dirname(sys.executable))",
            ])
            .output();
        let own = asked.ok().and_then(|it| String::from_utf8(it.stdout).ok());
        let own = own.map(|it| PathBuf::from(it.trim()));
        let all = own.into_iter().chain(std::env::split_paths(&path));
        std::env::join_paths(all).expect("invalid path")
    })
}

/// A user with a home, a working directory, and nothing else.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// In memory where there is a place for that: hundreds of them are made, and each waits for the disk many times.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::within(memory)
        } else {
            Self::new()
        }
    }

    fn within(place: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("zot-it-")
            .tempdir_in(place)
            .expect("failed to create temporary directory");
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("failed to create directory");
        }
        Self { folder }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Where the user works.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// A global extension's place.
    pub(crate) fn installed(&self, name: &str) -> PathBuf {
        self.path("zot/extensions").join(name)
    }

    /// A program in this world: nothing of the tester's own environment reaches it.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.path("home"))
            .env("ZOT_HOME", self.path("zot"))
            .env("TMPDIR", self.path("tmp"))
            .env("TERM", "xterm")
            .current_dir(self.work())
            .stdin(Stdio::null());
        // Tests that run in the background of a shell inherit that Ctrl-C means nothing, and a shell cannot take that back.
        // SAFETY: between fork and exec, it touches nothing but a signal.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
        command
    }

    pub(crate) fn zot_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_zot"));
        command.args(args);
        command
    }

    pub(crate) fn zot(&self, args: &[&str]) -> Ran {
        Ran::of(self.zot_command(args).output().expect("failed to start zot"))
    }

    /// `zot ext …`, which must work.
    pub(crate) fn ext(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> = ["ext"].iter().chain(args).copied().collect();
        let ran = self.zot(&args);
        assert_eq!(ran.code, Some(0), "{args:?}\n{ran:#?}");
        ran
    }

    /// `zot ext …`, which must fail and leave everything as it is.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let args: Vec<&str> = ["ext"].iter().chain(args).copied().collect();
        let before = snapshot::of(self.root());
        let ran = self.zot(&args);
        assert_eq!(ran.code, Some(1), "{args:?}\n{ran:#?}");
        snapshot::assert_same(&before, &snapshot::of(self.root()));
        assert!(
            ran.err.lines().any(|line| line.starts_with("error: ")),
            "{}",
            ran.err
        );
        ran.err
    }

    /// `zot ext list --json`, of one extension.
    pub(crate) fn listed(&self, name: &str) -> Value {
        let all: Value = serde_json::from_str(&self.ext(&["list", "--json"]).out).expect("invalid JSON");
        let all = all["extensions"].as_array().expect("should be an array");
        let mut named = all.iter().filter(|it| it["name"] == name);
        let listed = named.next().cloned().unwrap_or_default();
        assert_eq!(named.next(), None, "only one");
        listed
    }
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("not valid UTF-8"),
            err: String::from_utf8(output.stderr).expect("not valid UTF-8"),
        }
    }
}

/// Waits for something to become true.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How much longer than usual what is random goes on: `.ci/full` sets it.
pub(crate) fn soak() -> usize {
    std::env::var("ZOT_SOAK").map_or(1, |times| times.parse().expect("should be a number"))
}

/// Numbers from a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// One of `0..sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}

/// Path as text, for arguments.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("not valid UTF-8")
}
