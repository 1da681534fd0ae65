//! The logs of extensions, read while others write and rotate them.
//!
//! A log is `NAME.log` and, once that was full, the one before as `NAME.log.1`. Whoever rotates renames; a file that is
//! open stays readable to its end, so nothing is missed and nothing is read twice.

mod file;
pub(crate) mod find;
pub(crate) mod follow;
mod last;
mod mark;

pub(crate) use file::older;
pub(crate) use last::last;
pub(crate) use mark::Mark;
