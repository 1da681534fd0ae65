//! The progress line of a run, shown only in terminals.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use zot_conform::Progress;

/// Delay before the line is shown.
const QUIET: Duration = Duration::from_millis(300);
const BEAT: Duration = Duration::from_millis(100);
/// Maximum length of the description of the awaited frame, in characters. A line that wraps cannot
/// be erased.
const SHOWN_CHARS: usize = 50;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The progress line and the thread that draws it.
pub(crate) struct ProgressLine {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

/// State shared with the thread that draws the line.
#[derive(Default)]
struct Reporter(Mutex<RunProgress>);

#[derive(Default)]
struct RunProgress {
    all: usize,
    done: usize,
    running: BTreeMap<String, Running>,
}

/// A check that is running.
struct Running {
    since: Instant,
    /// What it is waiting for.
    waits_for: Option<String>,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            waits_for: None,
        }
    }
}

impl ProgressLine {
    /// Starts drawing if stderr is a terminal.
    pub(crate) fn start() -> (Self, Arc<dyn Progress>) {
        let reporter = Arc::new(Reporter::default());
        let over = Arc::new(AtomicBool::new(false));
        let thread = stderr().is_terminal().then(|| {
            let (reporter, over) = (Arc::clone(&reporter), Arc::clone(&over));
            thread::spawn(move || draw(&reporter, &over))
        });
        (Self { over, thread }, reporter)
    }
}

/// Removes the line, even if the run is interrupted.
impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in the drawing thread must not prevent the report.
            let _ = thread.join();
        }
    }
}

fn draw(reporter: &Reporter, over: &AtomicBool) {
    let began = Instant::now();
    let mut drawn = false;
    for beat in 0.. {
        thread::sleep(BEAT);
        if over.load(Ordering::Relaxed) {
            break;
        }
        if began.elapsed() > QUIET {
            drawn = true;
            let line = line(&reporter.0.lock(), beat);
            let _ = write!(stderr(), "\r\x1b[2K{line}").and_then(|()| stderr().flush());
        }
    }
    if drawn {
        let _ = write!(stderr(), "\r\x1b[2K").and_then(|()| stderr().flush());
    }
}

fn line(state: &RunProgress, beat: usize) -> String {
    let spinner = SPINNER[beat % SPINNER.len()];
    let longest = state.running.iter().min_by_key(|(_, check)| check.since);
    let waits = longest.map_or_else(String::new, |(id, check)| {
        let seconds = check.since.elapsed().as_secs();
        let separator = if id.is_empty() { "" } else { " · " };
        let what = check.waits_for.as_deref().map_or_else(String::new, |what| {
            let what: String = what.chars().take(SHOWN_CHARS).collect();
            format!("waiting for {}", zot_conform::visible(&what))
        });
        let space = if id.is_empty() || what.is_empty() {
            ""
        } else {
            " "
        };
        format!("{separator}{id}{space}{what} {seconds} s")
    });
    if state.all == 0 {
        return format!("{spinner} {waits}");
    }
    format!("{spinner} {}/{}{waits}", state.done, state.all)
}

impl Progress for Reporter {
    fn add_total(&self, checks: usize) {
        let mut state = self.0.lock();
        state.all += checks;
        state.running.remove("");
    }

    fn started(&self, id: &str) {
        let mut state = self.0.lock();
        state.running.insert(id.to_owned(), Running::default());
    }

    fn waiting(&self, id: &str, what: &str) {
        let mut state = self.0.lock();
        let check = state.running.entry(id.to_owned()).or_default();
        check.waits_for = Some(what.to_owned());
    }

    fn finished(&self, id: &str) {
        let mut state = self.0.lock();
        state.done += 1;
        state.running.remove(id);
    }
}
