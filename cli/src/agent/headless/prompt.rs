//! Reads the prompt from the command line and from piped input.

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

/// Maximum size of piped input; no model accepts more.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Delay before we show that we are waiting for input.
const NOTICE_DELAY: Duration = Duration::from_millis(500);

/// Returns the prompt: the words from the command line, followed by the piped input.
pub(crate) fn read(words: &[String]) -> anyhow::Result<String> {
    let given = words.join(" ");
    let piped = if is_piped() { piped()? } else { String::new() };
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

fn piped() -> anyhow::Result<String> {
    let (done, waiting) = mpsc::channel::<()>();
    if io::stderr().is_terminal() {
        thread::spawn(move || {
            if waiting.recv_timeout(NOTICE_DELAY) == Err(mpsc::RecvTimeoutError::Timeout) {
                output::note(Style::of_stderr().muted("… reading standard input"));
            }
        });
    }
    let mut bytes = Vec::new();
    let read = io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    drop(done);
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
