//! What `zot rpc` costs: a ping, its start, its memory, each with ten extensions installed.
//!
//! `cargo bench -p zot-cli` prints the table twice: as a user has it, with a pause before each ping in which a core falls
//! asleep, and pinned to one core without pauses, where the program's own work shows. Rounds of zot and floor are interleaved.
//! The floor and the extensions are this same binary, started with a flag.

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

/// How many extensions are installed.
const EXTENSIONS: usize = 10;

/// What every row is measured with.
pub(crate) struct Bench {
    home: tempfile::TempDir,
    rounds: usize,
    pinned: bool,
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
    // Cargo runs benches under `cargo test --all-targets` too; there, one round shows that they work.
    let (measured, pinned) = (has("--bench"), has("--pinned"));
    let bench = Bench {
        home: home(),
        rounds: if measured || pinned { 31 } else { 1 },
        pinned,
    };
    table::print(&bench, &rows(pinned));
    if measured {
        let again = Command::new("taskset")
            .args(["-c", "0"])
            .arg(this())
            .arg("--pinned")
            .status();
        if again.is_err() {
            println!("skipped: taskset not found, so nothing is pinned");
        }
    }
}

fn rows(pinned: bool) -> Vec<Row> {
    let ping = Row {
        what: "a ping, against the same pipe to an echo",
        goal: Goal::Ratio(if pinned { 2.0 } else { 1.3 }),
        measure: figures::pings,
    };
    if pinned {
        return vec![ping];
    }
    vec![
        ping,
        Row {
            what: "zot rpc to its first answer, against a bare start",
            goal: Goal::Milliseconds(15.0),
            measure: figures::first_answers,
        },
        Row {
            what: "zot --version, against a bare start",
            goal: Goal::Milliseconds(5.0),
            measure: figures::versions,
        },
        Row {
            what: "memory of zot rpc, ten extensions idle",
            goal: Goal::Megabytes(12.0),
            measure: figures::memory,
        },
    ]
}

/// A home with the extensions in it.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a home");
    for number in 0..EXTENSIONS {
        let name = format!("idle{number}");
        let dir = home.path().join("extensions").join(&name);
        fs::create_dir_all(&dir).expect("made");
        let manifest = json!({"name": name, "exec": this(), "args": ["--extension"]});
        fs::write(dir.join("extension.json"), manifest.to_string()).expect("written");
    }
    home
}

impl Bench {
    /// `zot` in that home, and nothing of the tester's own.
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

/// Says every line again.
fn echo() {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line") + "\n";
        stdout.write_all(line.as_bytes()).expect("written");
        stdout.flush().expect("written");
    }
}

/// Registers a command and a tool, and then waits.
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
    std::env::current_exe().expect("known")
}
