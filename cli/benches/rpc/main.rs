//! What `zot rpc` costs: a ping, its start, its memory, each with ten extensions installed.
//!
//! Pings are measured as a user has them, one after the other; after a pause in which the core of the other side falls asleep; and pinned
//! to one core, where the program's own work shows. (`host/benches/figures/cores.rs` says why.) Rounds of zot and floor are interleaved.
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
    cores: Cores,
}

/// Where the two sides of a ping run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Wherever the system likes.
    Any,
    /// Each on one of its own. This process is on the first already.
    Apart,
    /// Both on the first. This process is there already.
    One,
}

impl Cores {
    const FLAGS: [(&str, Self); 2] = [("--apart", Self::Apart), ("--pinned", Self::One)];
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
    let measured = has("--bench");
    let told = Cores::FLAGS.into_iter().find(|(flag, _)| has(flag));
    let bench = Bench {
        home: home(),
        rounds: if measured || told.is_some() { 31 } else { 1 },
        cores: told.map_or(Cores::Any, |(_, cores)| cores),
    };
    table::print(&bench, &rows(bench.cores));
    if measured {
        for (flag, _) in Cores::FLAGS {
            let again = on_core("0", &this()).arg(flag).status();
            if again.is_err() {
                println!("skipped: taskset not found, so nothing is kept on its core");
            }
        }
    }
}

fn on_core(core: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(program);
    command
}

fn rows(cores: Cores) -> Vec<Row> {
    let ping = |what, goal, measure| Row {
        what,
        goal,
        measure,
    };
    match cores {
        Cores::Apart => {
            let what = "a ping, to a core that sleeps";
            return vec![ping(what, Goal::Ratio(1.3), figures::late_pings)];
        }
        Cores::One => {
            let what = "a ping, against the same pipe to an echo, pinned";
            return vec![ping(what, Goal::Ratio(2.0), figures::pings)];
        }
        Cores::Any => {}
    }
    vec![
        ping(
            "a ping, against the same pipe to an echo",
            Goal::Ratio(1.3),
            figures::pings,
        ),
        ping(
            "a ping, after a pause, on whatever cores",
            Goal::Ratio(1.3),
            figures::late_pings,
        ),
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
        let mut command = self.other_side(Path::new(env!("CARGO_BIN_EXE_zot")));
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

    /// A program on the core where the other side of a ping belongs.
    pub(crate) fn other_side(&self, program: &Path) -> Command {
        match self.cores {
            Cores::Apart => on_core("1", program),
            // Where this process is.
            Cores::One | Cores::Any => Command::new(program),
        }
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
