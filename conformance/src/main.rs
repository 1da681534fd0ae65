//! The `zot-conform` binary, for extension authors.

mod args;
mod commands;
mod progress;
mod settings;

use std::process::ExitCode;

use clap::Parser;
use zot_conform::target::Unstartable;

use crate::args::Args;

fn main() -> ExitCode {
    match commands::act(Args::parse()) {
        Ok(code) => code,
        Err(error) => match error.downcast::<Unstartable>() {
            Ok(why) => {
                eprintln!("error: {why}");
                ExitCode::from(3)
            }
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::from(2)
            }
        },
    }
}
