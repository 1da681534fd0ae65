//! Sets up the agent from the command line, and runs it in the headless modes.

pub(crate) mod descriptor;
pub(crate) mod headless;
mod json_output;
mod record;
mod session;
mod signals;
mod start;

pub(crate) use json_output::{JsonOutput, OutputClosed};
pub(crate) use record::Record;
pub(crate) use signals::Signals;
pub(crate) use start::{Mode, Start, wanted};
