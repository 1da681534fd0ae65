//! The time from the first prompt to the first byte of its request, with and without the system's
//! certificates, which are slow to load.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::row::{line, median};

/// The minimum time that a user takes to type a prompt.
const TYPING: Duration = Duration::from_millis(300);

pub(crate) fn print(rounds: usize) {
    let mut rows = [Vec::new(), Vec::new()];
    let mut differences = Vec::new();
    for _ in 0..rounds {
        let without = measure("http");
        let with = measure("https");
        rows[0].push(without);
        rows[1].push(with);
        differences.push(with - without);
    }
    let [without, with] = rows.map(median);
    let difference = median(differences);
    line(
        "first prompt to first request byte: https, vs http",
        "<= +5 ms",
        &format!("{difference:+.2} ms"),
        difference <= 5.0,
        &format!("{with:.2} ms, {without:.2} ms"),
    );
}

/// Returns the time in milliseconds. With `https`, the first byte belongs to the TLS handshake,
/// which starts after zot has loaded the certificates.
fn measure(scheme: &str) -> f64 {
    let folder = tempfile::tempdir().expect("create a directory");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a port");
    let port = listener.local_addr().expect("read the address").port();
    let (arriving, arrived) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept a connection");
        stream.read_exact(&mut [0]).expect("read a byte");
        arriving.send(Instant::now()).expect("the bench is running");
    });
    let mut zot = Command::new(env!("CARGO_BIN_EXE_zot"))
        .args(["rpc", "--no-ext", "--provider", "openai", "--model", "m"])
        .args(["--api-key", "k", "--base-url"])
        .arg(format!("{scheme}://127.0.0.1:{port}/v1"))
        .env("ZOT_HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start zot");
    let mut input = zot.stdin.take().expect("stdin is piped");
    let mut output = BufReader::new(zot.stdout.take().expect("stdout is piped"));
    writeln!(input, "{}", json!({"type": "ping"})).expect("write a command");
    output
        .read_line(&mut String::new())
        .expect("read a response");
    thread::sleep(TYPING);
    let start = Instant::now();
    writeln!(input, "{}", json!({"type": "prompt", "message": "hello"})).expect("write a command");
    let time = arrived.recv().expect("a request") - start;
    zot.kill().expect("kill zot");
    zot.wait().expect("wait for zot");
    time.as_secs_f64() * 1e3
}
