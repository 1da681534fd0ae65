//! Measures `zot rpc` with ten extensions installed: its startup time and its memory use.
//!
//! Rounds of zot and of the baseline are interleaved. The baseline and the extensions are this
//! binary itself, started with a flag.

mod driven;
mod figures;
#[path = "../row.rs"]
mod row;
mod table;

use std::{
    fs,
    io::{BufRead, Write},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use table::{Goal, Row};

/// The number of installed extensions.
const EXTENSIONS: usize = 10;

/// The setup shared by all measurements.
pub(crate) struct Bench {
    home: tempfile::TempDir,
    rounds: usize,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--echo") {
        return echo();
    }
    if has("--extension") {
        return extension();
    }
    if has("--nothing") {
        return;
    }
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let is_bench = has("--bench");
    let bench = Bench {
        home: home(),
        rounds: if is_bench { 31 } else { 1 },
    };
    table::print(&bench, &ROWS);
}

const ROWS: [Row; 3] = [
    Row {
        what: "first response of zot rpc, compared with an empty process",
        goal: Goal::Milliseconds(15.0),
        measure: figures::first_answers,
    },
    Row {
        what: "zot --version, compared with an empty process",
        goal: Goal::Milliseconds(5.0),
        measure: figures::versions,
    },
    Row {
        what: "memory of zot rpc with ten idle extensions",
        goal: Goal::Megabytes(12.0),
        measure: figures::memory,
    },
];

/// Creates a home directory with the extensions.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("create a directory");
    for number in 0..EXTENSIONS {
        let name = format!("idle{number}");
        let dir = home.path().join("extensions").join(&name);
        fs::create_dir_all(&dir).expect("create a directory");
        let manifest = json!({"name": name, "exec": this(), "args": ["--extension"]});
        fs::write(dir.join("extension.json"), manifest.to_string()).expect("write the manifest");
    }
    home
}

impl Bench {
    /// Returns a `zot` command that uses this home and inherits only `PATH` from the environment.
    pub(crate) fn zot(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zot"));
        let home: &Path = self.home.path();
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("ZOT_HOME", home)
            .current_dir(home);
        command
    }
}

/// Echoes every line.
fn echo() {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("read a line") + "\n";
        stdout.write_all(line.as_bytes()).expect("write a line");
        stdout.flush().expect("flush");
    }
}

/// Registers a command and a tool, then waits for `shutdown`.
fn extension() {
    println!("{}", json!({"type": "hello", "name": "idle"}));
    println!("{}", json!({"type": "register_command", "name": "idle"}));
    println!(
        "{}",
        json!({"type": "register_tool", "name": "idle", "schema": {"type": "object"}})
    );
    println!("{}", json!({"type": "ready"}));
    for line in std::io::stdin().lock().lines() {
        if line.is_ok_and(|line| line.contains("shutdown")) {
            return;
        }
    }
}

pub(crate) fn this() -> PathBuf {
    std::env::current_exe().expect("find the path of this program")
}
