//! Does this extension keep the zot extension protocol?
//!
//! For an extension's author, in any language. So far it validates recorded streams of frames; the harness that plays
//! the host follows. It shares types with the host and nothing else: a harness that shares the host's code vouches for
//! its mistakes.

mod stream;

pub use stream::{Finding, Sender, Summary, validate};
