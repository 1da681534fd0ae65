//! A progress line on the terminal for operations that take longer than half a second.

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

/// A line that is overwritten in place and cleared on drop. Does nothing without a terminal.
#[derive(Debug)]
struct Spinner {
    start: Instant,
    is_terminal: bool,
    /// The text on the screen.
    shown: Option<String>,
}

impl Spinner {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// Shows what is going on, in a few words.
    fn update(&mut self, what: &str) {
        let waited = self.start.elapsed();
        if !self.is_terminal || waited < DELAY {
            return;
        }
        let what: String = what.chars().take(MAX_CHARS).collect();
        let text = format!("… {what} ({} s)", waited.as_secs());
        if self.shown.as_ref() != Some(&text) {
            let _ = write!(io::stderr(), "{CLEAR}{}", Style::of_stderr().muted(&text));
            self.shown = Some(text);
        }
    }

    /// Removes the line.
    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Runs `work`, and shows `what` if it takes long.
pub(crate) async fn with_spinner<T>(what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let mut spinner = Spinner::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK) => spinner.update(&what()),
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
