//! `zot ext …`: the package manager and the tools for extension authors. The implementation is in
//! [`crate::package`], [`crate::author`], [`crate::doctor`] and [`crate::logs`].

mod adopt;
mod audit;
mod call;
mod doctor;
mod enable;
mod install;
mod list;
mod logs;
mod new;
mod outdated;
mod remove;
mod run;
mod update;
mod why;

use std::{env, path::PathBuf};

use anyhow::Context as _;
use zot_host::home::Home;
use zot_protocol::InterceptMode;

use crate::{args::Ext, interrupt};

/// The directories that a subcommand works in.
struct Context {
    home: Home,
    cwd: PathBuf,
}

pub(super) fn run(command: Ext) -> anyhow::Result<()> {
    let context = Context {
        home: Home::from_env()?,
        cwd: env::current_dir().context("the working directory no longer exists")?,
    };
    interrupt::watch().context("cannot watch for Ctrl-C")?;
    match command {
        Ext::List { json } => list::run(&context, json),
        Ext::Install(install) => install::run(&context, &install),
        Ext::Remove { which, purge } => remove::run(&context, &which, purge),
        Ext::Adopt { which } => adopt::run(&context, &which),
        Ext::Enable { which } => enable::run(&context, &which, true),
        Ext::Disable { which } => enable::run(&context, &which, false),
        Ext::Audit(args) => audit::run(&context, &args, InterceptMode::Audit),
        Ext::Enforce(args) => audit::run(&context, &args, InterceptMode::Enforce),
        Ext::Why(args) => why::run(&context, &args),
        Ext::Update(args) => update::run(&context, &args),
        Ext::Outdated { allow_insecure } => outdated::run(&context, allow_insecure),
        Ext::Logs(args) => logs::run(&context, &args),
        Ext::Doctor(args) => doctor::run(&context, &args),
        Ext::New(args) => new::run(&context, &args),
        Ext::Run(args) => run::run(&context, &args),
        Ext::Call(args) => call::run(&context, &args),
    }
}
