//! The binary `zot-conform`, as an author runs it.

mod transcript;
mod validate;
