//! The progress of a fetch.

use std::fmt;

use crate::output;

/// How much of a pack has been received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) objects: usize,
    pub(super) of: usize,
    pub(super) bytes: u64,
}

impl fmt::Display for Transfer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { objects, of, .. } = self;
        match of {
            0 => formatter.write_str("waiting for the server"),
            of => write!(
                formatter,
                "{objects}/{of} objects, {}",
                output::bytes(self.bytes)
            ),
        }
    }
}
