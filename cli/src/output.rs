//! Terminal output: coloured in a terminal, plain when piped.

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

/// Writes text to standard output. Returns `false` if the reader has closed the pipe.
pub(crate) fn write(text: &str) -> anyhow::Result<bool> {
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

/// Writes text to standard output. A reader that closes the pipe early, such as `head`, is not an
/// error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(text).map(drop)
}

/// Writes a line to standard output.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    print(&format!("{text}\n"))
}

/// Writes a line to standard error. Ignores write errors: a closed stderr must not stop the
/// command.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Colours text if the stream is a terminal. No meaning is conveyed by colour alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// The style for standard output.
    pub(crate) fn of_stdout() -> Self {
        Self {
            coloured: io::stdout().is_terminal() && colour_is_allowed(),
        }
    }

    /// The style for standard error.
    pub(crate) fn of_stderr() -> Self {
        Self {
            coloured: io::stderr().is_terminal() && colour_is_allowed(),
        }
    }

    /// Dims headings and secondary text.
    pub(crate) fn muted(self, text: impl Display) -> String {
        self.with("2", text)
    }

    /// Highlights names and other important text.
    pub(crate) fn accent(self, text: impl Display) -> String {
        self.with("36", text)
    }

    /// Colours errors.
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

/// Reports whether colour is allowed; see <https://no-color.org>.
pub(crate) fn colour_is_allowed() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The width of the terminal, or `None` if standard output is not a terminal.
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

/// Reports whether the user can be asked a question.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes/no question. The default is no.
pub(crate) fn confirm(question: &str) -> anyhow::Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Asks a question and returns the answer. Fails on Ctrl-C; see [`interrupt::watch`].
pub(crate) fn ask(question: &str) -> anyhow::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}").and_then(|()| stderr.flush())?;
    let stdin = io::stdin();
    loop {
        interrupt::check().inspect_err(|_| note(""))?;
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let tick = Duration::from_millis(50)
            .try_into()
            .expect("50 ms fits in a `Timespec`");
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

/// Formats a count with its noun, such as `1 file` or `2 files`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// Formats a size, such as `1.2 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    const KIB: u64 = 1024;
    let (unit, name) = match count {
        0..KIB => return counted(count, "byte"),
        KIB..0x10_0000 => (KIB, "KiB"),
        _ => (KIB * KIB, "MiB"),
    };
    let tenths = count * 10 / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1023.9 KiB");
        assert_eq!(bytes(3 * 1024 * 1024 / 2), "1.5 MiB");
    }
}
