//! Reads extension logs while zot writes and rotates them.
//!
//! A log is `ext-NAME.log`; rotation renames a full log to `ext-NAME.log.1`. An open file stays
//! readable after a rename, so no line is lost or read twice.

mod file;
pub(crate) mod find;
pub(crate) mod follow;
mod last;

pub(crate) use file::older;
pub(crate) use last::{Mark, last};
