//! `zot ext logs NAME [-f] [-n N]`.

use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use zot_host::extension::discover::shown;

use super::Context;
use crate::{
    args::Logs,
    clean, interrupt,
    logs::{self, follow::Follower},
    output::{self, Style},
};

/// How long it takes at the most until a new line is seen.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, args: &Logs) -> anyhow::Result<()> {
    let path = logs::find::find(&args.name, &context.cwd, &context.home)?;
    let unreadable = || format!("cannot read `{}`", shown::path(&path));
    let last = logs::last(&path, args.lines).with_context(unreadable)?;
    let mut printer = Printer::default();
    let follower = match last {
        Some((text, follower)) => {
            if !printer.print(&text)? {
                return Ok(());
            }
            follower
        }
        None => {
            let waiting = if args.follow { "; waiting for it" } else { "" };
            output::note(Style::of_stderr().muted(format_args!(
                "it has no log yet: {}{waiting}",
                shown::path(&path)
            )));
            Follower::from_start(&path)
        }
    };
    if args.follow {
        follow(follower, printer, &path)
    } else {
        printer.finish()
    }
}

/// Until the user, or whoever reads the output, has had enough.
fn follow(mut follower: Follower, mut printer: Printer, path: &Path) -> anyhow::Result<()> {
    while interrupt::check().is_ok() && is_read() {
        let more = follower
            .more()
            .with_context(|| format!("cannot read `{}`", shown::path(path)))?;
        if !printer.print(&more)? {
            break;
        }
    }
    Ok(())
}

/// Waits a moment; `false` as soon as nobody reads the output any more, also while there is nothing to write.
fn is_read() -> bool {
    let stdout = io::stdout();
    let mut ended = [PollFd::new(&stdout, PollFlags::empty())];
    let tick = TICK.try_into().expect("a short time fits");
    match poll(&mut ended, Some(&tick)) {
        Ok(0) | Err(_) => true,
        Ok(_) => !ended[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL),
    }
}

/// Prints whole lines, fit for a terminal.
#[derive(Debug, Default)]
struct Printer {
    /// A line that has begun.
    begun: Vec<u8>,
}

impl Printer {
    /// `false` when nobody reads it any more.
    fn print(&mut self, text: &[u8]) -> anyhow::Result<bool> {
        self.begun.extend_from_slice(text);
        let Some(end) = self.begun.iter().rposition(|&byte| byte == b'\n') else {
            return Ok(true);
        };
        let rest = self.begun.split_off(end + 1);
        let lines = std::mem::replace(&mut self.begun, rest);
        write(&clean::text(&String::from_utf8_lossy(&lines)))
    }

    /// A last line that has no end.
    fn finish(mut self) -> anyhow::Result<()> {
        if !self.begun.is_empty() {
            self.print(b"\n")?;
        }
        Ok(())
    }
}

fn write(text: &str) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write to standard output"),
    }
}
