//! The `zot` program: the agent, and the package manager for its extensions.

mod agent;
mod args;
mod author;
mod clean;
mod commands;
mod decision_text;
mod doctor;
mod exit;
mod interrupt;
mod logs;
mod memory;
mod output;
mod package;
mod registration_summary;
mod rpc;
mod secrets;
mod short_lived_host;
mod spinner;
mod tui;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;

fn main() -> ExitCode {
    memory::return_large_blocks();
    let words = secrets::hide();
    CompleteEnv::with_factory(args::Args::command)
        .var(commands::COMPLETE)
        .complete();
    let args = args::Args::parse_from(words);
    match commands::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(exit) = error.downcast_ref::<exit::Exit>() {
                return ExitCode::from(exit.0);
            }
            let label = output::Style::of_stderr().error("error:");
            output::note(format_args!("{label} {error:#}"));
            if error.is::<interrupt::Interrupted>() {
                ExitCode::from(interrupt::EXIT_CODE)
            } else if let Some(failed) = error.downcast_ref::<exit::Failed>() {
                ExitCode::from(failed.code)
            } else if error.is::<exit::Usage>() {
                ExitCode::from(exit::Usage::CODE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}
