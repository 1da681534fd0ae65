//! The command line.

mod agent;
mod auth;
mod author;
mod complete;
mod ext;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use agent::{Agent, Flags, LogLevel};
pub(crate) use auth::{Auth, Set as SetKey};
pub(crate) use author::{Call, Doctor, Logs, New, Run};
pub(crate) use ext::{Ext, Install, Which};

/// A terminal coding agent that anything can extend.
#[derive(Debug, Parser)]
#[command(
    name = "zot",
    version,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    override_usage = "zot [FLAGS] [PROMPT]\n       zot -p [FLAGS] PROMPT\n       zot --json [FLAGS] PROMPT\n       zot COMMAND",
    after_help = "\
Examples:
  zot -p \"what does this project do?\"
  git diff | zot -p \"write a commit message\"
  zot --provider demo -p '/call bash {\"command\": \"date\"}'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) agent: Agent,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the agent for another program: commands on standard input, answers and events on standard output.
    ///
    /// One JSON object per line, in both directions (docs/rpc.md). Nothing is kept unless --session says where.
    #[command(after_help = "\
Example:
  echo '{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"hello\"}' | zot rpc --provider demo")]
    Rpc(Box<Flags>),
    /// Install, list, switch, update, write and try extensions.
    #[command(subcommand, arg_required_else_help = true)]
    Ext(Ext),
    /// Keep, list and forget the keys of providers.
    #[command(subcommand, arg_required_else_help = true)]
    Auth(Auth),
    /// Print the JSON Schemas of the protocol, the manifest and the configuration.
    ///
    /// Without a name: the names there are.
    #[command(after_help = "Example:\n  zot schema manifest > extension.schema.json")]
    Schema {
        /// Which one, such as `from-extension/hello`, `from-host` or `manifest`.
        name: Option<String>,
        /// Write files into this directory instead: the named one, or all.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print what makes a shell complete zot's commands and the names of extensions.
    #[command(after_help = "\
Examples:
  echo 'source <(zot completions bash)' >> ~/.bashrc
  echo 'source <(zot completions zsh)' >> ~/.zshrc
  echo 'zot completions fish | source' >> ~/.config/fish/config.fish")]
    Completions {
        /// The shell.
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Write the manual pages into a directory. For whoever packages zot.
    #[command(hide = true)]
    Man {
        /// The directory; it is made.
        #[arg(value_hint = clap::ValueHint::DirPath)]
        dir: PathBuf,
    },
}
