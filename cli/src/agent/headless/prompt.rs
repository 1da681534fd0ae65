//! What the agent is to do: from the command line, and from what is piped in.

use std::{
    io::{self, IsTerminal, Read},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::fs::FileType;

use crate::{
    exit::Usage,
    output::{self, Style},
};

/// A file that is piped in may have so many bytes; no model takes more.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// When whoever waits is told what for.
const PATIENCE: Duration = Duration::from_millis(500);

/// The words, and behind them what standard input says.
pub(crate) fn read(words: &[String]) -> anyhow::Result<String> {
    let given = words.join(" ");
    let piped = if is_piped() { piped()? } else { String::new() };
    let parts = [given.as_str(), piped.trim_end()];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    if parts.is_empty() {
        return Err(
            Usage::new("there is no prompt\nhint: zot -p \"what to do\", or pipe it in").into(),
        );
    }
    Ok(parts.join("\n\n"))
}

/// Whether somebody means something by standard input: a terminal is for answers, and `/dev/null` is nothing.
fn is_piped() -> bool {
    rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        let kind = FileType::from_raw_mode(stat.st_mode);
        matches!(
            kind,
            FileType::Fifo | FileType::RegularFile | FileType::Socket
        )
    })
}

fn piped() -> anyhow::Result<String> {
    let (done, waiting) = mpsc::channel::<()>();
    if io::stderr().is_terminal() {
        thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                output::note(Style::of_stderr().muted("… reading standard input"));
            }
        });
    }
    let mut bytes = Vec::new();
    let read = io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    drop(done);
    if bytes.len() as u64 > MOST_BYTES {
        bail!(
            "standard input has more than 16 MiB\nhint: name the file in the prompt; the model can read it in parts"
        );
    }
    String::from_utf8(bytes).map_err(|_| {
        anyhow::anyhow!(
            "standard input is not UTF-8 text\nhint: name the file in the prompt instead"
        )
    })
}
