//! Does this extension keep the zot extension protocol?
//!
//! For an extension's author, in any language. It plays the host, from recorded transcripts and from what the extension
//! registers, and explains what it finds. It shares types with the host and nothing else: a harness that shares the
//! host's code vouches for its mistakes.

mod exchange;
mod report;
mod stream;
mod verdict;

pub mod transcript;

pub use exchange::{Deed, Entry, Exchange, Party, SHOWN_BYTES};
pub use report::{Counts, Report};
pub use stream::{Sender, StreamFinding, StreamSummary, validate};
pub use verdict::{Finding, Level, Outcome, Verdict};
