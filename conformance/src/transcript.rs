//! Transcripts, `*.zt.ndjson`: a recorded exchange between a host and an extension that can be
//! replayed.
//!
//! Parsing, writing, matching and recording are pure. Only `file` does file I/O, and only `play`
//! starts a process.
//!
//! # The format
//!
//! One JSON object per line; its first key is the verb. Blank lines are skipped. An unknown verb,
//! matcher or key is an error, reported with its line number.
//!
//! | line | means |
//! |---|---|
//! | `{"zt":1,"name":…,"about":…,"extension":DIR,"needs":{…},"ignore":[…]}` | the header, on the first line; everything but `zt` is optional. `extension`: the default extension directory, relative to the transcript. `ignore`: frame types that may arrive at any time |
//! | `{"send":FRAME}` | the host sends the frame |
//! | `{"expect":FRAME,"within":"5s","optional":true}` | the extension sends a matching frame |
//! | `{"unordered":[…],"within":"5s"}` | the extension sends all of these, in any order. An item is a frame with its `type`, a matcher, or `{"expect":FRAME,"optional":true}` |
//! | `{"use":"handshake"}` | the handshake, up to `ready` |
//! | `{"wait":"100ms"}`, `{"quiet":"200ms"}` | wait; wait, and fail if a frame arrives |
//! | `{"raw":TEXT}` | write these bytes, without a newline |
//! | `{"split":[n,…]}` | the next `send` or `raw` is written in pieces of these sizes in bytes, then the rest |
//! | `{"stall_stdout":"3s"}` | the harness does not read stdout for this long |
//! | `{"close_stdin":true}`, `{"signal":"TERM"}` | close stdin; send a signal |
//! | `{"exit":{"code":0},"within":"2s"}` | the process exits with `code` or is killed by `signal` |
//! | `{"stderr":MATCH,"within":"5s"}` | the extension writes a matching line to stderr |
//! | `{"#":TEXT}` | a comment |
//!
//! A duration is a whole number with `ms`, `s` or `m`.
//!
//! # Patterns
//!
//! Objects are open: they may have further fields. Arrays have exactly the listed items. Numbers
//! compare by value: `1` equals `1.0`.
//!
//! | matcher | matches |
//! |---|---|
//! | `"[..]"` within a string | any text without a line break, including empty text |
//! | `{"$any":true}` | any value |
//! | `{"$type":NAME}` | `string`, `number`, `integer`, `boolean`, `object`, `array`, `null` |
//! | `{"$re":PATTERN}` | a string that contains a match; `^` and `$` anchor it |
//! | `{"$oneOf":[…]}` | a value that matches one of these |
//! | `{"$absent":true}` | a field that is missing or `null`, which mean the same in the protocol |
//! | `{"$contains":[…]}` | an array with a matching item for each of these, in any order; other items are allowed |
//! | `{"$schema":SCHEMA}` | a value that matches a JSON Schema |
//! | `{"$lit":VALUE}` | exactly this value: no matchers inside, no further fields |
//! | `{"$exact":true,…}` | an object with exactly these fields; objects inside it are open again |
//! | `{"$ref":NAME}` | the value bound to the name |
//! | `{"$cap":NAME,"as":MATCH}` | any value, or one that matches `as`; it is bound to the name from then on |
//! | `{"$fill":TEXT}` | the string, with the directories of this run filled in |
//!
//! The only matchers allowed in a `send` frame are `{"$new":NAME}` (which creates an id), `$ref`,
//! `$fill` and `$lit`. A name must be bound exactly once, before it is used. A field whose name
//! begins with a dollar sign is written with an additional one: `"$$ref"`.
//!
//! `$fill` supports `${cwd}`, `${extension_dir}`, `${data_dir}`, `${home}` and `${tmp}`; `$$` is a
//! dollar sign.

mod accept;
mod bindings;
mod equal;
mod file;
mod fill;
mod names;
mod nearest;
mod parse;
mod pattern;
pub(crate) mod play;
mod pointer;
mod recorder;
mod recording;
pub(crate) mod sample;
mod scrub;
mod smaller;
mod span;
mod step;
mod wildcard;
mod write;

pub use accept::{Seen, accept, accept_text};
pub use bindings::Bindings;
pub use file::{LoadError, SUFFIX, Script, file_name, save};
pub use fill::{Place, Places};
pub use parse::{ParseError, parse};
pub use pattern::{Mismatch, Pattern, PatternError, Template, matches};
pub use recorder::Recorder;
pub use recording::from_recording;
pub use sample::validate_sends;
pub use scrub::SECRET;
pub use smaller::smaller;
pub(crate) use span::parse as span;
pub use step::{Expect, Head, Needs, Signal, Step, Transcript, Verb};

/// How long an `expect` without `within` waits.
pub const DEFAULT_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
