//! A progress line in the terminal for operations that take longer than half a second.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::output::Style;

/// Delay before we show what we are waiting for.
const DELAY: Duration = Duration::from_millis(500);
/// How often the line is updated.
const TICK: Duration = Duration::from_millis(100);
/// Clears the current line.
const CLEAR: &str = "\r\x1b[K";
/// The maximum length of the text, so that it fits on one line.
const MAX_CHARS: usize = 70;

/// A line that is overwritten in place and cleared on drop. Shows nothing until [`DELAY`] has
/// passed, and nothing without a terminal.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    start: Instant,
    is_terminal: bool,
    /// The text on the screen.
    shown: Option<String>,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    pub(crate) fn show(&mut self, text: &str) {
        let is_due = self.is_terminal && self.start.elapsed() >= DELAY;
        if is_due && self.shown.as_deref() != Some(text) {
            let _ = write!(io::stderr(), "{CLEAR}{text}");
            self.shown = Some(text.to_owned());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

/// Runs `work`, and shows `what` if it takes longer than [`DELAY`].
pub(crate) async fn with_spinner<T>(what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let mut line = ProgressLine::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK) => {
                let what: String = what().chars().take(MAX_CHARS).collect();
                let text = format!("… {what} ({} s)", line.start.elapsed().as_secs());
                line.show(&Style::of_stderr().muted(text));
            }
        }
    }
}

/// Prints a progress message on its own line, unless standard error is redirected.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        let text = Style::of_stderr().muted(format_args!("… {text}"));
        let _ = writeln!(io::stderr(), "{CLEAR}{text}");
    }
}
