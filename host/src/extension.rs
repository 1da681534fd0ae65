//! Extensions: found, read from, asked.

pub mod chain;
pub mod fold;
pub mod stats;
pub mod wire;
