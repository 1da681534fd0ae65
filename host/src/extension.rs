//! Extensions: found, started, read from, asked.

pub mod chain;
pub mod connection;
pub mod discover;
mod event;
pub mod fold;
pub(crate) mod member;
mod outbox;
mod pending;
mod registered;
mod registry;
pub mod stats;
pub mod wire;

pub use member::{Launch, LaunchError};
pub use pending::RequestError;
pub use registered::{Command, Registered, Tool};
pub use registry::{Builtins, CommandEntry, Registry, Shadowed, ToolEntry};
