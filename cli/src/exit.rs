//! An end that has been explained already.

/// Ends the program with this code and no further word: what there is to say was said.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub(crate) u8);
