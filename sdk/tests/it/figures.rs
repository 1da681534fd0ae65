//! Measures build time, size and startup of a small extension, built outside the workspace:
//!
//! ```sh
//! cargo test -p zot-sdk --test it -- --ignored --nocapture figures
//! ```

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The source of the extension.
const MAIN: &str = r#"
use schemars::JsonSchema;
use serde::Deserialize;
use zot_sdk::{Decision, Extension, Reply};

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The city.
    city: String,
}

fn main() -> std::process::ExitCode {
    Extension::new("figures", "1.0.0")
        .command("hello", "greets", |name, _| Reply::display(format!("Hello {name}")))
        .tool("weather", "The weather.", async |args: City, _| format!("{}: fog", args.city))
        .intercept_tool_call(|call, _| match call.tool_name.as_str() {
            "bash" => Decision::block("no shells"),
            _ => Decision::allow(),
        })
        .run()
}
"#;

fn project(folder: &Path) {
    let sdk = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"figures\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nschemars = \"1\"\nserde = \"1\"\nzot-sdk = {{ path = {sdk:?} }}\n\n\
         [profile.release]\nstrip = true\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("write the file");
    fs::create_dir(folder.join("src")).expect("create a directory");
    fs::write(folder.join("src/main.rs"), MAIN).expect("write the file");
    // Use the dependency versions of this workspace.
    let lockfile = Path::new(sdk).join("../Cargo.lock");
    fs::copy(lockfile, folder.join("Cargo.lock")).expect("write the file");
}

fn cargo(folder: &Path, args: &[&str]) {
    let status = Command::new(env!("CARGO"))
        .args(args)
        .arg("--quiet")
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .status();
    assert!(status.expect("run cargo").success(), "cargo {args:?}");
}

/// Measures the time from starting the extension until it is ready.
fn start(program: &Path) -> Duration {
    let start = Instant::now();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the extension");
    let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let ready = lines
        .map_while(Result::ok)
        .find(|line| line.contains("ready"));
    let took = start.elapsed();
    assert!(ready.is_some(), "the extension was never ready");
    drop(child.stdin.take());
    child.wait().expect("wait for the extension");
    took
}

/// Returns the CPU time of all exited children, which does not depend on other load.
fn cpu_seconds() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("read /proc");
    // Skip the name, which can contain anything, and read from the third field on.
    let fields = stat
        .rsplit(')')
        .next()
        .expect("the name is in parentheses")
        .split_whitespace();
    let ticks = fields
        .skip(13)
        .take(2)
        .map(|it| it.parse::<u64>().expect("a number in /proc"));
    ticks.sum::<u64>() / 100
}

#[test]
#[ignore = "benchmark: needs a full build and an idle machine"]
fn figures() {
    let folder = tempfile::tempdir().expect("create a directory");
    project(folder.path());
    cargo(folder.path(), &["fetch"]);

    let start_of_build = Instant::now();
    cargo(folder.path(), &["build", "--release", "--jobs", "2"]);
    let build = start_of_build.elapsed();
    let program = folder.path().join("target/release/figures");
    let bytes = fs::metadata(&program).expect("the program was built").len();
    let mut starts: Vec<Duration> = (0..101).map(|_| start(&program)).collect();
    starts.sort();
    let median = starts[starts.len() / 2];

    println!(
        "fresh release build, two jobs   {:6.1} s    goal 60 s ({} s of CPU time, load average {})",
        build.as_secs_f64(),
        cpu_seconds(),
        fs::read_to_string("/proc/loadavg")
            .expect("read /proc")
            .split(' ')
            .next()
            .expect("a number in /proc"),
    );
    println!(
        "stripped binary                 {:6} kB   goal 1500 kB",
        bytes / 1000
    );
    println!(
        "start to ready, median of 101   {:6.2} ms   goal 5 ms (p99 {:.2} ms)",
        median.as_secs_f64() * 1e3,
        starts[99].as_secs_f64() * 1e3
    );
    assert!(build < Duration::from_secs(60), "{build:?}");
    assert!(bytes <= 1_500_000, "{bytes}");
    assert!(median < Duration::from_millis(5), "{median:?}");
}
