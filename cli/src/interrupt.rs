//! Ctrl-C sets a flag. Long operations check it between steps, so that they can roll back.

use std::{
    io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The exit code after an interrupt.
pub(crate) const EXIT_CODE: u8 = 130;

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The user pressed Ctrl-C, and the operation was rolled back.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("interrupted; nothing was changed")]
pub(crate) struct Interrupted;

/// Turns SIGINT and SIGTERM into a flag. The caller must then poll it with [`check`].
pub(crate) fn watch() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&FLAG))?;
    }
    Ok(())
}

/// Fails if an interrupt was received.
pub(crate) fn check() -> Result<(), Interrupted> {
    if FLAG.load(Ordering::Relaxed) {
        Err(Interrupted)
    } else {
        Ok(())
    }
}
