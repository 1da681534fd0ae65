//! Ends with a code of their own.

/// Ends the program with this code and no further word: what there is to say was said.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub(crate) u8);

impl Exit {
    /// The exit code of a program whose reader has gone.
    pub(crate) const BROKEN_PIPE: u8 = 128 + 13;
}

/// The command line asks for something that cannot be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(String);

impl Usage {
    /// The exit code of a wrong command line, which clap has too.
    pub(crate) const CODE: u8 = 2;

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
