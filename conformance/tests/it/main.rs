//! The binary `zot-conform`, as an author runs it.

mod accept;
mod examples;
mod record;
mod replay;
mod report;
mod sample;
mod shrink;
mod stage;
mod support;
mod transcript;
mod validate;
