//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A terminal coding agent that anything can extend.
#[derive(Debug, Parser)]
#[command(name = "zot", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the JSON Schemas of the protocol, the manifest and the configuration.
    ///
    /// Without a name: the names there are.
    Schema {
        /// Which one, such as `from-extension/hello`, `from-host` or `manifest`.
        name: Option<String>,
        /// Write files into this directory instead: the named one, or all.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
