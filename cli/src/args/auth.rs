//! `zot auth …`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    /// Keep a provider's key, which is read from standard input, or asked for on a terminal.
    ///
    /// It is tried once before it is kept, in `auth.json`, which only you can read.
    #[command(after_help = "\
Examples:
  zot auth set anthropic
  zot auth set openai < key.txt")]
    Set(Set),
    /// Show for which providers there are keys, and where. The keys themselves are not shown.
    #[command(after_help = "Example:\n  zot auth list")]
    List,
    /// Forget a provider's key.
    #[command(after_help = "Example:\n  zot auth remove anthropic")]
    Remove {
        /// anthropic, openai, or ollama.
        provider: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// anthropic, openai, or ollama.
    pub(crate) provider: String,
    /// Keep it without trying it.
    #[arg(long)]
    pub(crate) no_check: bool,
    /// The server to try it with, if it is another than the provider's own.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}
