//! `zot ext install PATH|GIT-URL[#REF]`.

use super::Context;
use crate::{
    args::Install,
    package::{
        install::{self, Request},
        source::Source,
        store::Store,
    },
};

pub(super) fn run(context: &Context, args: &Install) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let store = if args.project {
        Store::project(cwd, home)
    } else {
        Store::global(home)
    };
    install::install(&Request {
        args,
        source: Source::parse(&args.source, args.wanted.as_deref(), cwd)?,
        store,
        home,
        cwd,
    })
}
