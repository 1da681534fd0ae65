//! The protocol crate through its public door.

mod config;
mod documents;
mod foreign;
mod frames;
mod hostile;
mod manifest;
mod outside;
mod properties;
mod published;
mod quick;
mod refused;
mod responses;
mod shared;
mod support;
mod tool_schema;
