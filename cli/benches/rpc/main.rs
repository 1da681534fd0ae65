//! Measures `zot rpc` with ten extensions installed: pings, startup time and memory.
//!
//! Pings are measured in three ways: one after the other, as users see them; after a pause, in
//! which the other side's core goes idle; and with both sides pinned to one core, which shows the
//! program's own work. Rounds of zot and of the baseline are interleaved. The baseline and the
//! extensions are this same binary, started with a flag.

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
    cores: Cores,
}

/// Which CPU cores the two sides of a ping run on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Any core, as the system schedules them.
    Any,
    /// Each side on its own core. This process is already on the first one.
    Apart,
    /// Both sides on the first core. This process is already there.
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
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let is_bench = has("--bench");
    let selected = Cores::FLAGS.into_iter().find(|(flag, _)| has(flag));
    let bench = Bench {
        home: home(),
        rounds: if is_bench || selected.is_some() {
            31
        } else {
            1
        },
        cores: selected.map_or(Cores::Any, |(_, cores)| cores),
    };
    table::print(&bench, &rows(bench.cores));
    if is_bench {
        for (flag, _) in Cores::FLAGS {
            let again = on_core("0", &this()).arg(flag).status();
            if again.is_err() {
                println!("skipped: pinned measurements (taskset not found)");
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
            let what = "ping to an idle core";
            return vec![ping(what, Goal::Ratio(1.3), figures::late_pings)];
        }
        Cores::One => {
            let what = "ping, compared with an echo process, pinned";
            return vec![ping(what, Goal::Ratio(2.0), figures::pings)];
        }
        Cores::Any => {}
    }
    vec![
        ping(
            "ping, compared with an echo process",
            Goal::Ratio(1.3),
            figures::pings,
        ),
        ping(
            "ping after a pause, on any core",
            Goal::Ratio(1.3),
            figures::late_pings,
        ),
        Row {
            what: "first response of zot rpc, compared with a bare start",
            goal: Goal::Milliseconds(15.0),
            measure: figures::first_answers,
        },
        Row {
            what: "zot --version, compared with a bare start",
            goal: Goal::Milliseconds(5.0),
            measure: figures::versions,
        },
        Row {
            what: "memory of zot rpc with ten idle extensions",
            goal: Goal::Megabytes(12.0),
            measure: figures::memory,
        },
    ]
}

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

    /// Returns a command that runs the other side of a ping on its core.
    pub(crate) fn other_side(&self, program: &Path) -> Command {
        match self.cores {
            Cores::Apart => on_core("1", program),
            // The child inherits the CPU affinity of this process.
            Cores::One | Cores::Any => Command::new(program),
        }
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
    std::env::current_exe().expect("the path of this program")
}
