//! The host crate through its public door.

#[cfg(feature = "agent")]
mod agent;
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
#[cfg(feature = "agent")]
mod provider;
mod recordings;
mod reply_order;
mod seeds;
#[cfg(feature = "agent")]
mod session;
mod settings;
mod soak;
mod support;
mod telling;
#[cfg(feature = "agent")]
mod tool;
mod wire;
