//! What each subcommand does.

mod schema;

use crate::args::Command;

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Schema { name, out } => schema::run(name.as_deref(), out.as_deref()),
    }
}
