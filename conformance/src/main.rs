//! The `zot-conform` binary, for extension authors.

mod args;
mod commands;
mod progress;
mod settings;

use std::process::ExitCode;

use clap::Parser;
use zot_conform::target::Unstartable;

use crate::{args::Args, commands::Interrupted};

fn main() -> ExitCode {
    let error = match commands::act(Args::parse()) {
        Ok(code) => return code,
        Err(error) => error,
    };
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        ExitCode::from(interrupted.status())
    } else if let Some(why) = error.downcast_ref::<Unstartable>() {
        eprintln!("error: {why}");
        ExitCode::from(3)
    } else {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    }
}
