//! Resolves command-line arguments into options.

use std::{io::IsTerminal, path::PathBuf, time::Duration};

use anyhow::{bail, ensure};
use zot_conform::{Options, Selection};

use crate::args::{self, Timing};

/// Default number of parallel checks. It may exceed the number of cores, because checks mostly wait
/// for the extension.
pub(crate) const JOBS: usize = 12;

/// The options of a run.
pub(crate) fn options(run: &args::Run) -> anyhow::Result<Options> {
    let (scale, startup) = timing(&run.timing)?;
    ensure!(run.jobs != Some(0), "--jobs must be at least 1");
    Ok(Options {
        profile: run.profile,
        seed: run.seed,
        scale,
        startup,
        reply_timeout: seconds("--reply-timeout", run.reply_timeout)?,
        jobs: run.jobs.unwrap_or(JOBS),
        selection: Selection {
            only: run.only.clone(),
            skip: run.skip.clone(),
            level: run.level.map(|level| match level {
                args::Level::Must => zot_conform::Level::Must,
                args::Level::Should => zot_conform::Level::Should,
            }),
        },
        strict: run.strict,
        keep_going: run.keep_going,
        observer: None,
        transcripts: Vec::new(),
        store: store(),
    })
}

/// The scale of timeouts, and the timeout for `hello`.
pub(crate) fn timing(timing: &Timing) -> anyhow::Result<(f64, Option<Duration>)> {
    let scale = timing.timeout_scale;
    ensure!(
        scale.is_finite() && (0.001..=1000.0).contains(&scale),
        "--timeout-scale must be between 0.001 and 1000, not {scale}"
    );
    let startup = seconds("--startup-timeout", timing.startup_timeout)?;
    Ok((scale, startup))
}

/// Converts a number of seconds from the command line.
fn seconds(flag: &str, given: Option<f64>) -> anyhow::Result<Option<Duration>> {
    match given {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 && seconds <= 3600.0 => {
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        Some(seconds) => {
            bail!("{flag} must be more than 0 and at most 3600 seconds, not {seconds}")
        }
    }
}

/// Whether to use colour on a stream.
pub(crate) fn colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}

/// The directory for saved failures; `None` if there is no home directory.
pub(crate) fn store() -> Option<PathBuf> {
    let var = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value))
    };
    let home = if let Some(home) = var("ZOT_HOME") {
        std::path::absolute(&home).unwrap_or(home)
    } else if cfg!(target_os = "macos") {
        std::env::home_dir()?.join("Library/Application Support/zot")
    } else {
        // The XDG specification says to ignore relative paths.
        let state = var("XDG_STATE_HOME").filter(|state| state.is_absolute());
        let state = state.or_else(|| Some(std::env::home_dir()?.join(".local/state")));
        state?.join("zot")
    };
    Some(home.join("conform"))
}

/// The terminal's width, or 100 columns if there is no terminal.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.map_or(100, |size| usize::from(size.ws_col).clamp(40, 140))
}
