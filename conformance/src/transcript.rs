//! Transcripts, `*.zt.ndjson`: an exchange between a host and an extension that can be played again.
//!
//! Pure code: text into a [`Transcript`] and back, frames against patterns, frames into a recording. Who plays one needs
//! a process, and is not here.
//!
//! # The format
//!
//! One JSON object per line; its first key is the verb. Blank lines are skipped. What is not known is an error with its
//! line: a verb, a matcher, a key beside a verb.
//!
//! | line | means |
//! |---|---|
//! | `{"zt":1,"name":…,"about":…,"extension":DIR,"needs":{…},"ignore":[…]}` | the head, first; all but `zt` is optional. `extension`: the directory it is played against by default, relative to the transcript's. `ignore`: types of frames that may come at any time |
//! | `{"send":FRAME}` | the host says it |
//! | `{"expect":FRAME,"within":"5s","optional":true}` | the extension says it |
//! | `{"unordered":[…],"within":"5s"}` | the extension says all of these, in any order. An item is a frame with its `type`, a matcher, or `{"expect":FRAME,"optional":true}` |
//! | `{"use":"handshake"}` | up to ready |
//! | `{"wait":"100ms"}`, `{"quiet":"200ms"}` | let time pass; let it pass and nothing come |
//! | `{"raw":TEXT}` | these bytes, and no newline after them |
//! | `{"split":[n,…]}` | the next `send` or `raw` is written in pieces of so many bytes, then the rest |
//! | `{"stall_stdout":"3s"}` | the harness does not read |
//! | `{"close_stdin":true}`, `{"signal":"TERM"}` | |
//! | `{"exit":{"code":0},"within":"2s"}` | the process ends, by `code` or by `signal` |
//! | `{"stderr":MATCH,"within":"5s"}` | a line of its standard error |
//! | `{"#":TEXT}` | a remark |
//!
//! A duration is a whole number with `ms`, `s` or `m`.
//!
//! # What is expected
//!
//! Objects are open: a field that is not named may be there. Lists have the items named and no others. Numbers compare
//! by value: `1` is `1.0`.
//!
//! | matcher | fits |
//! |---|---|
//! | `"[..]"` within a text | any text without a line break, the empty one too |
//! | `{"$any":true}` | whatever is there |
//! | `{"$type":NAME}` | `string`, `number`, `integer`, `boolean`, `object`, `array`, `null` |
//! | `{"$re":PATTERN}` | a text in which the pattern is found; `^` and `$` anchor it |
//! | `{"$oneOf":[…]}` | what fits one of these |
//! | `{"$absent":true}` | a field that is not there, or `null`: to the protocol that is the same |
//! | `{"$contains":[…]}` | a list with an item for each of these, in any order, among others |
//! | `{"$schema":SCHEMA}` | what a JSON Schema accepts |
//! | `{"$lit":VALUE}` | this and nothing else: no matchers within, no further fields |
//! | `{"$exact":true,…}` | an object of these fields and no others; objects within it are open again |
//! | `{"$ref":NAME}` | the value of that name |
//! | `{"$cap":NAME,"as":MATCH}` | anything, or what fits `as`, which has that name from then on |
//! | `{"$fill":TEXT}` | that text, with the places of this run |
//!
//! In what is sent there are `{"$new":NAME}`, which mints an id, `$ref`, `$fill` and `$lit`, and no other. A name is
//! given once, before it is used. A field whose name begins with a dollar sign is written with one more: `"$$ref"`.
//!
//! `$fill` knows `${cwd}`, `${extension_dir}`, `${data_dir}`, `${home}` and `${tmp}`; `$$` is a dollar sign.

mod accept;
mod bindings;
mod equal;
mod fill;
mod names;
mod nearest;
mod parse;
mod pattern;
mod pointer;
mod recorder;
mod recording;
mod scrub;
mod smaller;
mod span;
mod step;
mod wildcard;
mod write;

pub use accept::{Seen, accept, accept_text};
pub use bindings::Bindings;
pub use fill::{Place, Places};
pub use parse::{ParseError, parse};
pub use pattern::{FillError, Mismatch, Pattern, PatternError, Template, matches};
pub use recorder::Recorder;
pub use recording::from_recording;
pub use scrub::SECRET;
pub use smaller::smaller;
pub use step::{Expect, Head, Needs, Signal, Step, Transcript, Verb};

/// How long an `expect` waits that does not say so itself.
pub const DEFAULT_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
