//! Tests of the crate's public API.

mod as_dependency;
mod config;
mod documents;
mod frames;
mod hostile;
mod manifest;
mod properties;
mod published;
mod refused;
mod responses;
mod round_trip;
mod strict_json;
mod third_party_validators;
mod tool_schema;
