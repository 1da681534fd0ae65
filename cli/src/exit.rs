//! Errors that determine the exit code.

/// Exits with this code and prints nothing more: the command has already reported the failure.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub(crate) u8);

impl Exit {
    /// The exit code of a process killed by `SIGPIPE`.
    pub(crate) const BROKEN_PIPE: u8 = 128 + 13;
}

/// A failure with its own exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failed {
    pub(crate) code: u8,
    message: String,
}

impl Failed {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(String);

impl Usage {
    /// The exit code for usage errors; clap uses the same.
    pub(crate) const CODE: u8 = 2;

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
