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

use std::process::{Command, Output};

/// Runs `zot` with these arguments.
fn zot(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zot"))
        .args(args)
        .output()
        .expect("failed to start zot")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("not valid UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("not valid UTF-8")
}
