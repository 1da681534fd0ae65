//! Integration tests of the host crate through its public API.

#[cfg(feature = "agent")]
mod agent;
mod call_tool;
mod chain;
mod discover;
mod documents;
mod embedding;
mod faults;
mod host;
mod languages;
mod limits;
mod permissions;
#[cfg(feature = "agent")]
mod provider;
mod quick_start;
mod recordings;
mod reply_order;
mod reports;
#[cfg(feature = "agent")]
mod session;
mod settings;
mod soak;
mod support;
#[cfg(feature = "agent")]
mod tool;
mod wire;
