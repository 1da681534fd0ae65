//! Shared test support: an isolated home per test, and helpers to run programs in it.

pub(crate) mod examples;
pub(crate) mod git_daemon;
pub(crate) mod git_http;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod package;
pub(crate) mod process;
pub(crate) mod snapshot;
pub(crate) mod svg;
pub(crate) mod terminal;
pub(crate) mod traced;

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;
use zot_test_support::skip::search_path;

/// An isolated environment for one test: a home, a working directory and a temporary directory.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// Creates the environment in memory where possible, for tests that create hundreds of them.
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

    /// Writes `config.json`.
    pub(crate) fn configure(&self, config: &serde_json::Value) {
        let home = self.path("zot");
        std::fs::create_dir_all(&home).expect("failed to create directory");
        std::fs::write(home.join("config.json"), config.to_string()).expect("failed to write");
    }

    /// Returns the working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Returns the directory of a globally installed extension.
    pub(crate) fn installed(&self, name: &str) -> PathBuf {
        self.path("zot/extensions").join(name)
    }

    /// Returns a command that runs in this environment and inherits no other variables.
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
        // Reset SIGINT: a shell starts background jobs with it ignored, and shell scripts cannot
        // change that.
        // SAFETY: the closure only calls `signal`, which is async-signal-safe.
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

    pub(crate) fn zot(&self, args: &[&str]) -> RunOutput {
        RunOutput::of(
            self.zot_command(args)
                .output()
                .expect("failed to start zot"),
        )
    }

    /// Runs `zot ext …`, which must succeed.
    pub(crate) fn ext(&self, args: &[&str]) -> RunOutput {
        let args: Vec<&str> = ["ext"].iter().chain(args).copied().collect();
        let ran = self.zot(&args);
        assert_eq!(ran.code, Some(0), "{args:?}\n{ran:#?}");
        ran
    }

    /// Runs `zot ext …`, which must fail and change nothing. Returns its stderr.
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

    /// Returns the entry for one extension in `zot ext list --json`.
    pub(crate) fn listed(&self, name: &str) -> Value {
        let all: Value =
            serde_json::from_str(&self.ext(&["list", "--json"]).out).expect("invalid JSON");
        let all = all["extensions"].as_array().expect("should be an array");
        let mut named = all.iter().filter(|it| it["name"] == name);
        let listed = named.next().cloned().unwrap_or_default();
        assert_eq!(named.next(), None, "listed twice");
        listed
    }
}

/// The exit code and output of a program.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl RunOutput {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("not valid UTF-8"),
            err: String::from_utf8(output.stderr).expect("not valid UTF-8"),
        }
    }
}

/// Polls until the condition holds, and fails after a minute.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "timed out waiting until {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the factor by which to extend randomised tests. `.ci/full` raises it.
pub(crate) fn soak() -> usize {
    std::env::var("ZOT_SOAK").map_or(1, |times| times.parse().expect("should be a number"))
}

/// A seeded random number generator.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number in `0..bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

/// Writes a script of turns for the demo model, and returns its path.
pub(crate) fn demo_script(world: &World, turns: &[Value]) -> String {
    let path = world.path("script.jsonl");
    let lines: Vec<String> = turns.iter().map(Value::to_string).collect();
    std::fs::write(&path, lines.join("\n")).expect("failed to write");
    text(&path).to_owned()
}

/// Returns the path as UTF-8, for command-line arguments.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("not valid UTF-8")
}
