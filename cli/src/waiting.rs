//! A sign on the terminal that something goes on, for what takes longer than a moment.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::output::Style;

/// What takes less is not worth a line.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is renewed.
const TICK: Duration = Duration::from_millis(100);
/// To the start of the line, and nothing on it.
const CLEAR: &str = "\r\x1b[K";
/// So that it fits on a line.
const LONGEST: usize = 70;

/// A line that is written over and goes in the end. Without a terminal there is none.
#[derive(Debug)]
struct Waiting {
    start: Instant,
    is_terminal: bool,
    /// What stands there now.
    shown: Option<String>,
}

impl Waiting {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// What goes on, in a few words.
    fn say(&mut self, what: &str) {
        let waited = self.start.elapsed();
        if !self.is_terminal || waited < PATIENCE {
            return;
        }
        let what: String = what.chars().take(LONGEST).collect();
        let text = format!("… {what} ({} s)", waited.as_secs());
        if self.shown.as_ref() != Some(&text) {
            let _ = write!(io::stderr(), "{CLEAR}{}", Style::of_stderr().muted(&text));
            self.shown = Some(text);
        }
    }

    /// Takes it away.
    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Waits for `work`, with a sign where that takes long.
pub(crate) async fn patiently<T>(what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let mut waiting = Waiting::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK) => waiting.say(&what()),
        }
    }
}

/// Says what has been reached meanwhile, on a line that stays; not for a file.
pub(crate) fn reached(text: &str) {
    if io::stderr().is_terminal() {
        let text = Style::of_stderr().muted(format_args!("… {text}"));
        let _ = writeln!(io::stderr(), "{CLEAR}{text}");
    }
}
