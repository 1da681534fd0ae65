//! The binary `zot-conform`, as an author runs it.

mod baseline;
mod catalogue;
mod fixture;
mod report;
mod sample;
mod support;
mod transcript;
mod validate;
mod watch;
