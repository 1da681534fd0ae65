//! The binary `zot-conform`, as an author runs it.

mod baseline;
mod report;
mod sample;
mod skill;
mod support;
mod transcript;
mod validate;
mod watch;
