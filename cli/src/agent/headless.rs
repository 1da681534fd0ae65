//! An agent without a screen: what `-p`, `--json` and `rpc` have in common.

mod notes;
mod prompt;

use std::sync::Arc;

use anyhow::Context;
use zot_host::{EventStream, Hooks, Runtime};
use zot_process::{Orphans, Spawner, Subreaper};
use zot_protocol::{NoteLevel, StopReason, limits, rpc};

use super::{Record, Signals, Start};
use crate::{
    args::LogLevel,
    clean,
    exit::Exit,
    output::{self, Style},
    spinner::with_spinner,
};

pub(crate) use notes::{Note, Notes};
pub(crate) use prompt::read as read_prompt;

/// An agent that runs, and what is around it.
pub(crate) struct Headless {
    pub(crate) runtime: Runtime,
    signals: Signals,
    record: Option<Arc<Record>>,
    /// Linux alone has it.
    reaper: Option<Subreaper>,
    log_level: LogLevel,
    /// The exit code of the signal that ended it.
    signalled: Option<u8>,
}

impl Headless {
    /// Starts it. Must be called within a tokio runtime.
    pub(crate) fn begin(mut start: Start, hooks: Arc<dyn Hooks>) -> anyhow::Result<Self> {
        start.config.hooks = hooks;
        let signals = Signals::new().context("cannot watch for Ctrl-C")?;
        // This program starts nothing by other means, so every orphan is an extension's or a command's.
        let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
        for notice in &start.notices {
            say(start.log_level, LogLevel::Warn, notice);
        }
        Ok(Self {
            runtime: Runtime::new(start.config)?,
            signals,
            record: start.record,
            reaper: reaper.ok(),
            log_level: start.log_level,
            signalled: None,
        })
    }

    /// The next event of a prompt; `None` after the last. The first signal aborts the prompt, which then ends as it always
    /// does; a second one ends the program.
    pub(crate) async fn next(&mut self, events: &mut EventStream) -> Option<rpc::Event> {
        loop {
            tokio::select! {
                biased;
                code = self.signals.next() => self.signal(code).await,
                event = events.next() => return event,
            }
        }
    }

    /// The next signal. May be cancelled.
    pub(crate) async fn signalled(&mut self) -> u8 {
        self.signals.next().await
    }

    /// Does what a signal wants: the first aborts what is being done, a second one ends the program.
    pub(crate) async fn signal(&mut self, code: u8) {
        if self.signalled.replace(code).is_some() {
            leave(self.reaper.as_ref(), code).await;
        }
        self.runtime.cancel();
    }

    /// Ends everything, in order, and says what is to be said of it.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let ending = async {
            self.runtime.close().await;
            if let Some(reaper) = &self.reaper {
                reaper.sweep(limits::TERM_GRACE).await;
            }
        };
        let ending = with_spinner(|| "ending the extensions".to_owned(), ending);
        tokio::select! {
            biased;
            () = ending => {}
            code = self.signals.next() => leave(self.reaper.as_ref(), code).await,
        }
        if let Some(record) = &self.record {
            for path in record.finish()? {
                let path = zot_host::extension::discover::shown::path(&path);
                say(
                    self.log_level,
                    LogLevel::Info,
                    &format!("recorded `{path}`"),
                );
            }
        }
        match self.signalled {
            Some(code) => Err(Exit(code).into()),
            None => Ok(()),
        }
    }
}

/// Exits without waiting for anybody; what was started is killed.
pub(crate) async fn leave(reaper: Option<&Subreaper>, code: u8) -> ! {
    if let Some(reaper) = reaper {
        reaper.kill_everything().await;
    }
    std::process::exit(code.into());
}

/// Why a run has failed, as far as this event says so.
pub(crate) fn failure(event: &rpc::Event) -> Option<String> {
    match event {
        rpc::Event::Error(error) => Some(error.message.clone()),
        rpc::Event::TurnEnd(end) if end.stop == StopReason::Error => Some(
            end.error
                .clone()
                .unwrap_or_else(|| "the turn failed".to_owned()),
        ),
        _ => None,
    }
}

/// How much must be wanted for a note to be said.
pub(crate) fn level_of(level: NoteLevel) -> LogLevel {
    match level {
        NoteLevel::Error => LogLevel::Error,
        NoteLevel::Warn => LogLevel::Warn,
        _ => LogLevel::Info,
    }
}

/// Says something on standard error, where that much is to be said.
pub(crate) fn say(wanted: LogLevel, level: LogLevel, message: &str) {
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
