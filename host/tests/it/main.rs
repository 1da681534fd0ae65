//! The host crate through its public door.

mod call_tool;
mod chain;
mod discover;
mod documents;
mod faults;
mod host;
mod languages;
mod memory;
mod outside;
mod permissions;
mod recordings;
mod seeds;
mod soak;
mod support;
mod telling;
#[cfg(feature = "agent")]
mod tool;
mod wire;
