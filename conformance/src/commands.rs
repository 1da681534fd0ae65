//! The subcommands.

mod accept;
mod explain;
mod generate;
mod interrupt;
mod list;
mod once;
mod record;
mod replay;
mod run;
mod validate;
mod watch;

use std::process::ExitCode;

use zot_conform::Ask;

pub(crate) use self::interrupt::Interrupted;
use self::interrupt::block_on;
use crate::args::{Args, Command};

/// Runs the subcommand, or the checks if there is none.
pub(crate) fn act(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        None => run::run(&args.run),
        Some(Command::Run(run)) => run::run(&run),
        Some(Command::Replay(replay)) => replay::replay(&replay),
        Some(Command::Record(record)) => record::record(&record),
        Some(Command::Accept { file, dir, timing }) => {
            accept::accept(&file, dir.as_deref(), &timing)
        }
        Some(Command::Call {
            dir,
            tool,
            json,
            timing,
        }) => {
            let args = once::object(json.as_deref())?;
            once::ask(&dir, &Ask::Tool(tool, args), &timing)
        }
        Some(Command::Invoke {
            dir,
            name,
            args,
            timing,
        }) => {
            let name = name.strip_prefix('/').unwrap_or(&name).to_owned();
            once::ask(&dir, &Ask::Command(name, args.join(" ")), &timing)
        }
        Some(Command::Intercept {
            dir,
            event,
            json,
            timing,
        }) => {
            let fields = once::object(json.as_deref())?;
            once::ask(&dir, &Ask::Intercept(event, fields), &timing)
        }
        Some(Command::Validate { from, file }) => Ok(validate::validate(from, &file)),
        Some(Command::Baseline { file, run }) => run::baseline(&file, &run),
        Some(Command::List { json }) => list::list(json),
        Some(Command::Explain { id }) => explain::explain(&id),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Man { dir }) => generate::man(&dir),
    }
}
