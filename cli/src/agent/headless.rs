//! Runs the agent without a user interface, for `-p`, `--json` and `rpc`.

mod deadline;
mod notes;
mod outcome;
mod output_schema;
mod prompt;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use zot_host::{EventStream, Hooks, Runtime};
use zot_process::{Orphans, Spawner, Subreaper};
use zot_protocol::{NoteLevel, limits, rpc};

use super::{Record, Signals, Start};
use crate::{
    args::LogLevel,
    clean,
    exit::Exit,
    output::{self, Style},
    spinner::with_spinner,
};

pub(crate) use deadline::Deadline;
pub(crate) use notes::{NoteQueue, QueuedNote};
pub(crate) use outcome::Outcome;
pub(crate) use output_schema::OutputSchema;
pub(crate) use prompt::read as read_prompt;

/// A running agent, with its signal handlers, recorder and subreaper.
pub(crate) struct Headless {
    pub(crate) runtime: Runtime,
    signals: Signals,
    record: Option<Arc<Record>>,
    /// `None` on systems other than Linux.
    reaper: Option<Subreaper>,
    log_level: LogLevel,
    /// The exit code for the signal that was received, if any.
    signalled: Option<u8>,
    deadline: Deadline,
}

/// How long to wait for a reader of the output after the run should have ended.
const WRITE_GRACE: Duration = Duration::from_secs(1);

impl Headless {
    /// Starts the agent. Must be called within a tokio runtime. The run is aborted at the deadline.
    pub(crate) fn begin(
        mut start: Start,
        hooks: Arc<dyn Hooks>,
        deadline: Deadline,
    ) -> anyhow::Result<Self> {
        start.config.hooks = hooks;
        let signals = Signals::new().context("cannot listen for signals")?;
        // zot starts all its processes with the spawner, so every other child is an orphan that an
        // extension or a tool left behind.
        let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
        for notice in &start.notices {
            log_message(start.log_level, LogLevel::Warn, notice);
        }
        Ok(Self {
            runtime: Runtime::new(start.config)?,
            signals,
            record: start.record,
            reaper: reaper.ok(),
            log_level: start.log_level,
            signalled: None,
            deadline,
        })
    }

    /// Returns the next event of a prompt; `None` after the last. The first signal aborts the
    /// prompt, which then ends normally; a second signal exits the process.
    pub(crate) async fn next(&mut self, events: &mut EventStream) -> Option<rpc::Event> {
        loop {
            tokio::select! {
                biased;
                code = self.signals.next() => self.signal(code).await,
                () = self.deadline.passes() => self.time_out(),
                event = events.next() => return event,
            }
        }
    }

    /// Waits for a write to standard output. Returns `None` if the reader has not read it shortly
    /// after the deadline.
    pub(crate) async fn write<T>(&mut self, writing: impl Future<Output = T>) -> Option<T> {
        let mut writing = std::pin::pin!(writing);
        loop {
            let has_passed = self.deadline.has_passed();
            tokio::select! {
                biased;
                code = self.signals.next() => self.signal(code).await,
                () = self.deadline.passes() => self.time_out(),
                written = &mut writing => return Some(written),
                () = tokio::time::sleep(WRITE_GRACE), if has_passed => return None,
            }
        }
    }

    /// Aborts the run, which then ends normally.
    fn time_out(&mut self) {
        self.deadline.set_passed();
        self.runtime.cancel();
    }

    /// Reports whether a signal or the timeout has ended the run.
    pub(crate) fn is_ending(&self) -> bool {
        self.signalled.is_some() || self.deadline.has_passed()
    }

    /// Waits for the next signal and returns its exit code. Cancel-safe.
    pub(crate) async fn signalled(&mut self) -> u8 {
        self.signals.next().await
    }

    /// Handles a signal. The first aborts the running prompt; the second exits the process.
    pub(crate) async fn signal(&mut self, code: u8) {
        if self.signalled.replace(code).is_some() {
            exit_now(self.reaper.as_ref(), code).await;
        }
        self.runtime.cancel();
    }

    /// Shuts everything down in order, and reports the paths of the recorded transcripts.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let closing = self.runtime.close();
        shut_down(closing, self.reaper.as_ref(), &mut self.signals).await;
        if let Some(record) = &self.record {
            for path in record.finish()? {
                let path = zot_host::extension::discover::escape::path(&path);
                log_message(
                    self.log_level,
                    LogLevel::Info,
                    &format!("recorded `{path}`"),
                );
            }
        }
        match self.signalled {
            Some(code) => Err(Exit(code).into()),
            None if self.deadline.has_passed() => Err(self.deadline.error().into()),
            None => Ok(()),
        }
    }
}

/// Runs `closing`, then ends all child processes. Exits immediately on a signal.
pub(crate) async fn shut_down(
    closing: impl Future<Output = ()>,
    reaper: Option<&Subreaper>,
    signals: &mut Signals,
) {
    let ending = async {
        closing.await;
        if let Some(reaper) = reaper {
            reaper.sweep(limits::TERM_GRACE).await;
        }
    };
    tokio::select! {
        biased;
        () = with_spinner(|| "stopping extensions".to_owned(), ending) => {}
        code = signals.next() => exit_now(reaper, code).await,
    }
}

/// Kills all child processes and exits without waiting for a clean shutdown.
async fn exit_now(reaper: Option<&Subreaper>, code: u8) -> ! {
    if let Some(reaper) = reaper {
        reaper.kill_everything().await;
    }
    std::process::exit(code.into());
}

/// Returns the log level of a note.
pub(crate) fn level_of(level: NoteLevel) -> LogLevel {
    match level {
        NoteLevel::Error => LogLevel::Error,
        NoteLevel::Warn => LogLevel::Warn,
        _ => LogLevel::Info,
    }
}

/// Prints a message to standard error if `wanted` includes `level`.
pub(crate) fn log_message(wanted: LogLevel, level: LogLevel, message: &str) {
    if wanted < level {
        return;
    }
    let style = Style::of_stderr();
    let message = clean::text(message);
    output::note(match level {
        LogLevel::Error => style.error(message),
        _ => style.muted(format_args!("! {message}")),
    });
}
