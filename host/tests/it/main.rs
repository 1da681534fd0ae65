//! The host crate through its public door.

mod chain;
mod wire;
