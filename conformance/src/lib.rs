//! Does this extension keep the zot extension protocol?
//!
//! For an extension's author, in any language. It plays the host, from recorded transcripts and from what the extension
//! registers, and explains what it finds. It shares types with the host and nothing else: a harness that shares the
//! host's code vouches for its mistakes.

pub mod arguments;
mod baseline;
mod check;
mod clean;
mod diagnose;
mod exchange;
mod guest;
mod once;
mod record;
mod reply;
mod report;
mod retake;
mod runner;
mod samples;
pub mod session;
mod shrink;
mod stream;
mod surface;
mod survey;
pub mod target;
pub mod transcript;
mod verdict;

pub use baseline::Baseline;
pub use check::{Check, Profile, catalogue, find};
pub use clean::{console, visible};
pub use exchange::{Deed, Entry, Exchange, Party, SHOWN_BYTES};
pub use guest::as_extension;
pub use once::{Ask, once, onlooker};
pub use record::{HELP, LineError, LineOutcome, Recording};
pub use report::{Counts, Exit, Form, Look, Report};
pub use retake::retake;
pub use runner::{NoProgress, Options, Progress, Selection, quoted, run};
pub use stream::{Sender, StreamFinding, StreamSummary, validate};
pub use verdict::{Finding, Level, Outcome, Verdict};
