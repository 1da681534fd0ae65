//! Ctrl-C: a flag that the work looks at between two steps, so that it can put everything back itself.

use std::{
    io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The exit code of a program that was interrupted.
pub(crate) const EXIT_CODE: u8 = 130;

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The user has had enough, and everything is as it was.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("interrupted; everything is as it was")]
pub(crate) struct Interrupted;

/// From now on a signal to end is a flag. The work that follows looks at it with [`check`].
pub(crate) fn watch() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&FLAG))?;
    }
    Ok(())
}

/// Whether to go on.
pub(crate) fn check() -> Result<(), Interrupted> {
    if FLAG.load(Ordering::Relaxed) {
        Err(Interrupted)
    } else {
        Ok(())
    }
}
