//! Tests of the crate's public API.

mod config;
mod documents;
mod foreign;
mod frames;
mod hostile;
mod manifest;
mod outside;
mod properties;
mod published;
mod refused;
mod responses;
mod shared;
mod strict_json;
mod support;
mod tool_schema;
