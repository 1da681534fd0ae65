//! Integration tests: run the `zot` binary as a user does.

mod agent;
mod completions;
mod doctor;
mod documents;
mod ext;
mod guards;
mod help;
mod logs;
mod man;
mod new;
mod repository;
mod rpc;
mod run_call;
mod schema;
mod support;
mod tui;
