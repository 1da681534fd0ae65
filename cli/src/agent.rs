//! The agent from the command line: from flags to somebody who answers, and the modes without a screen.

pub(crate) mod descriptor;
pub(crate) mod headless;
mod outlet;
mod record;
mod session;
mod signals;
mod start;

pub(crate) use outlet::{Gone, Outlet};
pub(crate) use record::Record;
pub(crate) use signals::Signals;
pub(crate) use start::{Mode, Start};
