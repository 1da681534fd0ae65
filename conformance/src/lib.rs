//! Checks whether an extension conforms to the zot extension protocol.
//!
//! The harness acts as the host, tests everything the extension registers, and replays recorded
//! transcripts. It shares only `zot-protocol` and `zot-process` with the real host, because shared
//! code would hide the host's mistakes.

mod arguments;
mod await_reply;
mod baseline;
mod check;
mod clean;
mod diagnose;
mod exchange;
mod once;
mod play_extension;
mod record;
mod replay_and_accept;
mod reply;
mod report;
mod runner;
mod samples;
mod session;
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
pub use exchange::{Action, Entry, Exchange, Party};
pub use once::{Ask, observer, once};
pub use play_extension::play_extension;
pub use record::{HELP, LineError, LineOutcome, Recording};
pub use replay_and_accept::replay_and_accept;
pub use report::{Counts, Exit, Form, Look, Report, wrap};
pub use runner::{Options, Progress, Selection, quoted, run};
pub use stream::{Sender, StreamFinding, StreamSummary, validate};
pub use verdict::{Finding, Level, Outcome, Verdict};
