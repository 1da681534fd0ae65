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
pub(crate) use ext::{Audit, Ext, Install, Update, Which, Why};

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
    /// Run the agent for another program, with JSON commands on stdin and events on stdout.
    ///
    /// Reads and writes one JSON object per line (see docs/rpc.md). The session is not saved unless
    /// `--session`, `--continue` or `--resume` is given.
    #[command(after_help = "\
Example:
  echo '{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"hello\"}' | zot rpc --provider demo")]
    Rpc(Box<Flags>),
    /// Manage extensions: install, update, create and debug them.
    #[command(subcommand, arg_required_else_help = true)]
    Ext(Ext),
    /// Manage API keys.
    #[command(subcommand, arg_required_else_help = true)]
    Auth(Auth),
    /// Print the JSON Schemas of the protocol, the manifest and the configuration.
    ///
    /// Without a name, lists the available schemas.
    #[command(after_help = "Example:\n  zot schema manifest > extension.schema.json")]
    Schema {
        /// The schema to print, such as `from-extension/hello`, `from-host` or `manifest`.
        name: Option<String>,
        /// Write files to this directory: the given schema, or all of them.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Generate shell completions for commands and extension names.
    #[command(after_help = "\
Examples:
  echo 'source <(zot completions bash)' >> ~/.bashrc
  echo 'source <(zot completions zsh)' >> ~/.zshrc
  echo 'zot completions fish | source' >> ~/.config/fish/config.fish")]
    Completions {
        /// The shell to generate completions for.
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Write the manual pages to a directory.
    #[command(hide = true)]
    Man {
        /// The directory to write to; created if it does not exist.
        #[arg(value_hint = clap::ValueHint::DirPath)]
        dir: PathBuf,
    },
}
