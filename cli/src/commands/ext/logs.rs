//! `zot ext logs NAME [-f] [-n N]`.

use std::{io, path::Path, time::Duration};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use zot_host::extension::discover::escape;

use super::Context;
use crate::{
    args::Logs,
    clean, interrupt,
    logs::{self, follow::Follower},
    output::{self, Style},
};

/// The maximum delay before a new line is shown.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, args: &Logs) -> anyhow::Result<()> {
    let path = logs::find::find(&args.name, &context.cwd, &context.home)?;
    let unreadable = || format!("cannot read `{}`", escape::path(&path));
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
            let waiting = if args.follow {
                "; waiting for output"
            } else {
                ""
            };
            output::note(
                Style::of_stderr()
                    .muted(format_args!("no log yet: {}{waiting}", escape::path(&path))),
            );
            Follower::from_start(&path)
        }
    };
    if args.follow {
        follow(follower, printer, &path)
    } else {
        printer.finish()
    }
}

/// Prints new lines until the user presses Ctrl-C or the reader closes the pipe.
fn follow(mut follower: Follower, mut printer: Printer, path: &Path) -> anyhow::Result<()> {
    while interrupt::check().is_ok() && wait_while_open() {
        let more = follower
            .more()
            .with_context(|| format!("cannot read `{}`", escape::path(path)))?;
        if !printer.print(&more)? {
            break;
        }
    }
    Ok(())
}

/// Waits for one tick. Returns `false` as soon as the reader closes the pipe, even when there is
/// nothing to write.
fn wait_while_open() -> bool {
    let stdout = io::stdout();
    let mut ended = [PollFd::new(&stdout, PollFlags::empty())];
    let tick = TICK.try_into().expect("100 ms fits in a `Timespec`");
    match poll(&mut ended, Some(&tick)) {
        Ok(0) | Err(_) => true,
        Ok(_) => !ended[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL),
    }
}

/// Prints complete lines, sanitised for the terminal.
#[derive(Debug, Default)]
struct Printer {
    /// An incomplete line.
    partial: Vec<u8>,
}

impl Printer {
    /// Prints the complete lines. Returns `false` if the reader has closed the pipe.
    fn print(&mut self, text: &[u8]) -> anyhow::Result<bool> {
        self.partial.extend_from_slice(text);
        let Some(end) = self.partial.iter().rposition(|&byte| byte == b'\n') else {
            return Ok(true);
        };
        let rest = self.partial.split_off(end + 1);
        let lines = std::mem::replace(&mut self.partial, rest);
        output::write(&clean::text(&String::from_utf8_lossy(&lines)))
    }

    /// Prints the last line if it has no newline.
    fn finish(mut self) -> anyhow::Result<()> {
        if !self.partial.is_empty() {
            self.print(b"\n")?;
        }
        Ok(())
    }
}
