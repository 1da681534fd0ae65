//! The binary `zot-conform`, as an author runs it.

mod baseline;
mod catalogue;
mod diagnosis;
mod fixture;
mod report;
mod run;
mod sample;
mod seeds;
mod support;
mod transcript;
mod validate;
mod watch;
