//! What people read: plain where it is piped, with a little colour on a terminal.

use std::{
    env,
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
    time::Duration,
};

use anyhow::Context;
use rustix::{
    event::{PollFd, PollFlags, poll},
    termios::tcgetwinsize,
};

use crate::interrupt;

/// Writes a text to standard output. A reader that closes the pipe early, such as `head`, has what it wanted.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Writes a line to standard output.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    print(&format!("{text}\n"))
}

/// Says something beside the result, on standard error. That nobody listens is no reason to stop.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// What a text is, in colours. Colour is never the only sign of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// For standard output as it is now.
    pub(crate) fn of_stdout() -> Self {
        Self {
            coloured: io::stdout().is_terminal() && may_colour(),
        }
    }

    /// For standard error as it is now.
    pub(crate) fn of_stderr() -> Self {
        Self {
            coloured: io::stderr().is_terminal() && may_colour(),
        }
    }

    /// Headings and what is beside the point.
    pub(crate) fn muted(self, text: impl Display) -> String {
        self.with("2", text)
    }

    /// What it is about.
    pub(crate) fn accent(self, text: impl Display) -> String {
        self.with("36", text)
    }

    /// What is wrong.
    pub(crate) fn error(self, text: impl Display) -> String {
        self.with("31", text)
    }

    fn with(self, code: &str, text: impl Display) -> String {
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

/// <https://no-color.org>: any value that is not empty.
pub(crate) fn may_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal that standard output is; `None` where it is none.
pub(crate) fn columns() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = tcgetwinsize(&stdout).ok()?;
    Some(if size.ws_col == 0 {
        80
    } else {
        usize::from(size.ws_col)
    })
}

/// Whether there is somebody to ask.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question that is answered with yes or no; anything but a yes is a no.
pub(crate) fn confirm(question: &str) -> anyhow::Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Asks a question, and gives the line that it is answered with. Ctrl-C is looked for, see [`interrupt::watch`].
pub(crate) fn ask(question: &str) -> anyhow::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}").and_then(|()| stderr.flush())?;
    let stdin = io::stdin();
    loop {
        interrupt::check().inspect_err(|_| note(""))?;
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let tick = Duration::from_millis(50)
            .try_into()
            .expect("a short time fits");
        match poll(&mut ready, Some(&tick)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(answer)
}
