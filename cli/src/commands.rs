//! What each subcommand does.

mod completions;
mod ext;
mod schema;

pub(crate) use completions::VARIABLE as COMPLETE;

use crate::args::Command;

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Ext(command) => ext::run(command),
        Command::Schema { name, out } => schema::run(name.as_deref(), out.as_deref()),
        Command::Completions { shell } => completions::run(&shell),
    }
}
