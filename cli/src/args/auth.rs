//! `zot auth …`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    /// Save an API key, read from standard input or entered at a prompt.
    ///
    /// The key is checked with one request and then saved to `auth.json`, which only you can
    /// read.
    #[command(after_help = "\
Examples:
  zot auth set anthropic
  zot auth set openai < key.txt")]
    Set(Set),
    /// List providers with an API key and where each key comes from. The keys are not shown.
    #[command(after_help = "Example:\n  zot auth list")]
    List,
    /// Remove a saved API key.
    #[command(after_help = "Example:\n  zot auth remove anthropic")]
    Remove {
        /// The provider's name, such as `anthropic`, `openai` or `groq`.
        provider: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The provider's name, such as `anthropic`, `openai` or `groq`.
    pub(crate) provider: String,
    /// Save the key without checking it.
    #[arg(long)]
    pub(crate) no_check: bool,
    /// The server to check the key with, if not the provider's own.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}
