//! Discovers, starts and talks to extensions.

mod call_chain;

pub mod chain;
mod changed;
pub mod connection;
mod data;
pub mod discover;
pub(crate) mod event;
pub mod fold;
mod last_known;
mod launch;
pub(crate) mod member;
pub(crate) mod notes;
pub(crate) mod outbox;
mod pending;
pub(crate) mod permission;
mod registered;
mod registry;
pub(crate) mod running_calls;
pub mod stats;
pub mod wire;

pub use call_chain::{CallChain, ChainRefused};
pub use data::{DataDir, DataOwner};
pub use last_known::{LastKnown, Offer};
pub use launch::Launch;
pub use pending::RequestError;
pub use permission::{PermissionReport, describe_actions};
pub use registered::{Command, Registered, Tool};
pub use registry::{Builtins, CommandEntry, Registry, Shadowed, ToolEntry};
