//! `zot ext run NAME|DIR COMMAND [ARGS]`.

use super::Context;
use crate::{
    args::Run,
    author::{
        one_request::{self, OneRequest},
        target,
    },
};

pub(super) fn run(context: &Context, args: &Run) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let launch = target::find(&args.extension, cwd, home)?;
    let command = args.command.strip_prefix('/').unwrap_or(&args.command);
    let ask = OneRequest::Command(command.to_owned(), args.args.join(" ").trim().to_owned());
    one_request::ask(launch, &ask, cwd, args.json)
}
