//! The program `zot`. So far it manages extensions and prints the JSON Schemas of the protocol; the agent follows.

mod args;
mod author;
mod clean;
mod commands;
mod doctor;
mod exit;
mod interrupt;
mod logs;
mod output;
mod package;
mod running;
mod waiting;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;

fn main() -> ExitCode {
    CompleteEnv::with_factory(args::Args::command)
        .var(commands::COMPLETE)
        .complete();
    let args = args::Args::parse();
    match commands::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(exit) = error.downcast_ref::<exit::Exit>() {
                return ExitCode::from(exit.0);
            }
            let label = output::Style::of_stderr().error("error:");
            output::note(format_args!("{label} {error:#}"));
            if error.is::<interrupt::Interrupted>() {
                ExitCode::from(interrupt::EXIT_CODE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}
