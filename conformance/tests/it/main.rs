//! The binary `zot-conform`, as an author runs it.

mod report;
mod sample;
mod support;
mod transcript;
mod validate;
