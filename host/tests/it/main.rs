//! The host crate through its public door.

mod chain;
mod discover;
mod host;
mod memory;
mod seeds;
mod support;
mod wire;
