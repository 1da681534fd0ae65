//! Reads the prompt from the command line and from piped input.

use std::{
    io::{self, IsTerminal, Read},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::fs::FileType;

use super::Deadline;
use crate::{
    exit::Usage,
    output::{self, Style},
};

/// Maximum size of piped input; no model accepts more.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Delay before we show that we are waiting for input.
const NOTICE_DELAY: Duration = Duration::from_millis(500);

/// Returns the prompt: the words from the command line, followed by the piped input. Fails if the
/// input does not end before the deadline.
pub(crate) fn read(words: &[String], deadline: &Deadline) -> anyhow::Result<String> {
    let given = words.join(" ");
    let piped = if is_piped() {
        piped(deadline)?
    } else {
        String::new()
    };
    let parts = [given.as_str(), piped.trim_end()];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    if parts.is_empty() {
        return Err(Usage::new(
            "no prompt given\nhint: run zot -p \"PROMPT\", or pipe the prompt to zot",
        )
        .into());
    }
    Ok(parts.join("\n\n"))
}

/// Reports whether standard input should be read. A terminal and `/dev/null` are ignored.
fn is_piped() -> bool {
    rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        let kind = FileType::from_raw_mode(stat.st_mode);
        matches!(
            kind,
            FileType::Fifo | FileType::RegularFile | FileType::Socket
        )
    })
}

fn piped(deadline: &Deadline) -> anyhow::Result<String> {
    // The read cannot be interrupted, so run it on a thread that may outlive this function.
    let (done, waiting) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes);
        let _ = done.send(read.map(|_| bytes));
    });
    let left = || deadline.left().unwrap_or(Duration::MAX);
    let mut read = waiting.recv_timeout(left().min(NOTICE_DELAY));
    if read.is_err() {
        if io::stderr().is_terminal() && !left().is_zero() {
            output::note(Style::of_stderr().muted("… reading standard input"));
        }
        read = waiting.recv_timeout(left());
    }
    let bytes = match read {
        Ok(read) => read.context("cannot read standard input")?,
        Err(RecvTimeoutError::Timeout) => return Err(deadline.error().into()),
        Err(RecvTimeoutError::Disconnected) => bail!("cannot read standard input"),
    };
    if bytes.len() as u64 > MAX_BYTES {
        bail!(
            "standard input is larger than 16 MiB\nhint: mention the file in the prompt, so that the model can read it in parts"
        );
    }
    String::from_utf8(bytes).map_err(|_| {
        anyhow::anyhow!(
            "standard input is not valid UTF-8\nhint: mention the file in the prompt instead"
        )
    })
}
