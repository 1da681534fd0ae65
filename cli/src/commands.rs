//! The implementation of each subcommand.

mod auth;
mod completions;
mod ext;
mod interactive;
mod json;
mod man;
mod models;
mod print;
mod rpc;
mod schema;

pub(crate) use completions::VARIABLE as COMPLETE;

use crate::args::{Agent, Args, Command};

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        None => agent(&args.agent),
        Some(Command::Rpc(flags)) => rpc::run(&flags),
        Some(Command::Ext(command)) => ext::run(command),
        Some(Command::Auth(command)) => auth::run(&command),
        Some(Command::Schema { name, out }) => schema::run(name.as_deref(), out.as_deref()),
        Some(Command::Completions { shell }) => completions::run(&shell),
        Some(Command::Man { dir }) => man::run(&dir),
    }
}

fn agent(args: &Agent) -> anyhow::Result<()> {
    if args.list_models {
        models::run(&args.flags)
    } else if args.print {
        print::run(args)
    } else if args.json {
        json::run(args)
    } else if args.rpc {
        rpc::run(&args.flags)
    } else {
        interactive::run(args)
    }
}
