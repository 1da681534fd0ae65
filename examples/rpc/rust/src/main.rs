//! Drives `zot rpc` from Rust with the types of `zot-protocol`: sends a prompt and prints the text
//! as it streams.
//!
//! ```sh
//! cargo run -p zot-example-rpc -- "what does this project do?" [FLAGS...]
//! ```
//!
//! Ctrl-C aborts the turn. If a command fails, the exit code is 1.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{ChildStdin, Command, ExitCode, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use anyhow::Context;
use signal_hook::{consts::SIGINT, iterator::Signals};
use zot_protocol::rpc::{self, Abort, Event, Output, Prompt};

fn main() -> anyhow::Result<ExitCode> {
    let mut args = env::args().skip(1);
    let message = args
        .next()
        .context("usage: zot-example-rpc MESSAGE [FLAGS...]")?;
    let program = env::var("ZOT").unwrap_or_else(|_| "zot".to_owned());
    let mut zot = Command::new(&program)
        .arg("rpc")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Run zot in its own process group, so that Ctrl-C reaches only us and we can send `abort`.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let to = Arc::new(Mutex::new(zot.stdin.take()));
    let mut from = BufReader::new(zot.stdout.take().context("stdout is not piped")?);

    let aborting = Arc::clone(&to);
    let mut interrupts = Signals::new([SIGINT])?;
    thread::spawn(move || {
        for _ in &mut interrupts {
            let _ = send(&aborting, &Abort::new(None).into());
        }
    });
    send(&to, &Prompt::new(Some("1".into()), message).into())?;
    let failed = follow(&mut from)?;
    println!();
    // There is nothing more to send. Read the rest of the output: zot exits immediately if its
    // stdout is closed.
    to.lock().unwrap_or_else(PoisonError::into_inner).take();
    io::copy(&mut from, &mut io::sink())?;
    let ended = zot.wait()?;
    let well = ended.success() && !failed;
    Ok(if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn send(to: &Mutex<Option<ChildStdin>>, command: &rpc::Command) -> anyhow::Result<()> {
    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = to.as_mut().context("stdin is closed")?;
    writeln!(stdin, "{}", serde_json::to_string(command)?)?;
    Ok(stdin.flush()?)
}

/// Prints events until the prompt is done. Returns whether anything failed.
fn follow(from: impl BufRead) -> anyhow::Result<bool> {
    let mut failed = false;
    let mut fail = |why: &str| {
        eprintln!("error: {why}");
        failed = true;
    };
    for line in from.lines() {
        match serde_json::from_str(&line?)? {
            Output::Response(response) => {
                if let Err(why) = response.outcome {
                    fail(&why);
                    break;
                }
            }
            Output::Event(Event::TextDelta(piece)) => {
                print!("{}", piece.delta);
                io::stdout().flush()?;
            }
            Output::Event(Event::Error(error)) => fail(&error.message),
            Output::Event(Event::Done(_)) => break,
            Output::Event(_) => {}
        }
    }
    Ok(failed)
}
