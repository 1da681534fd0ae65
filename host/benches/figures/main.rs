//! Host overhead: a tool call, a chain of ten interceptors, the start of fifty extensions, and a
//! flood, each compared with a baseline, such as the same work without a host.
//!
//! `cargo bench -p zot-host` prints the table twice: unpinned, as users run it, and pinned to one
//! core, where only the host's own work counts. Each round measures the host and the baseline, and
//! the figure is the median ratio or difference. The extension is this same binary, started with
//! `--echo`. An argument selects rows: `cargo bench -p zot-host -- call`.

mod bare;
mod extension;
mod flood;
mod round_trips;
mod starts;
mod table;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tokio::runtime::{Builder, Runtime};
use zot_host::{Host, HostConfig, extension::Launch, home::Home};
use zot_protocol::{HelloAck, Manifest};

use table::{Goal, Row, Table};

/// State shared by all rows.
struct Bench {
    runtime: Runtime,
    home: tempfile::TempDir,
    rounds: usize,
    pinned: bool,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--echo") {
        return extension::echo(has("--flood"));
    }
    if has("--spin") {
        return extension::spin();
    }
    // `cargo test --all-targets` also runs benches. One round is enough to show that they work.
    let (measured, pinned) = (has("--bench"), has("--pinned"));
    // Use the same kind of runtime as `zot rpc` and `zot -p`.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bench = Bench {
        runtime,
        home: tempfile::tempdir().unwrap(),
        rounds: if measured || pinned { 31 } else { 1 },
        pinned,
    };
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |row: &Row| words.is_empty() || words.iter().any(|word| row.what.contains(*word));
    Table::print(&bench, rows(pinned).filter(wanted));
    if measured {
        let again = Command::new("taskset")
            .args(["-c", "0"])
            .arg(this())
            .arg("--pinned")
            .args(&words)
            .status();
        if again.is_err() {
            println!("skipped: taskset not found, so there are no pinned results");
        }
    }
}

fn rows(pinned: bool) -> impl Iterator<Item = Row> {
    let rows = [
        Row {
            what: "a tool call, compared with the same pipe without a host",
            goal: Goal::Ratio(if pinned { 1.6 } else { 1.4 }),
            measure: round_trips::calls,
            pinned_too: true,
        },
        Row {
            what: "a chain of ten rewrites, compared with ten bare round trips",
            goal: Goal::Ratio(if pinned { 1.6 } else { 1.3 }),
            measure: round_trips::chains,
            pinned_too: true,
        },
        Row {
            what: "start of 50 extensions, compared with 50 bare processes",
            goal: Goal::Ratio(1.5),
            measure: starts::fifty,
            pinned_too: false,
        },
        Row {
            what: "start of one of 50 confined, compared with unconfined",
            goal: Goal::More(1000.0),
            measure: starts::confined,
            pinned_too: false,
        },
        Row {
            what: "p99 of a call during a flood, compared with a busy core",
            goal: Goal::Ratio(2.0),
            measure: flood::beside,
            pinned_too: false,
        },
    ];
    rows.into_iter()
        .filter(move |row| row.pinned_too || !pinned)
}

impl Bench {
    fn host(&self) -> Host {
        let _runtime = self.runtime.enter();
        let ack = HelloAck::new(1, "0.1.0", "demo", "demo", "/");
        Host::new(HostConfig::new(ack)).unwrap()
    }

    /// Returns a host with `count` echo extensions, all ready.
    fn loaded(&self, count: usize) -> Host {
        let host = self.host();
        let stats = self.runtime.block_on(host.load(self.launches(count)));
        assert_eq!(stats.ready, count as u64, "{stats:?}");
        host
    }

    fn launches(&self, count: usize) -> Vec<Launch> {
        (0..count)
            .map(|index| self.launch(&format!("echo{index}"), &["--echo"]))
            .collect()
    }

    fn launch(&self, name: &str, args: &[&str]) -> Launch {
        let home: &Path = self.home.path();
        let mut manifest = Manifest::new(name, this().display().to_string());
        manifest.args = args.iter().map(ToString::to_string).collect();
        Launch::new(manifest, home, &Home::at(home))
    }
}

fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}
