//! `zot ext …`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use zot_host::extension::discover::Scope;

use super::{author, complete};

#[derive(Debug, Subcommand)]
pub(crate) enum Ext {
    /// List installed extensions and what each registered when it last ran.
    ///
    /// Lists extensions in load order: the project's (`./.zot/extensions`), then global ones.
    /// `changed` means that the files differ from what was installed. See docs/packages.md for the
    /// fields of `--json`.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  zot ext list --json | jq -r '.extensions[] | select(.changed) | .name'"
    )]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install an extension from a directory or a git repository.
    ///
    /// A directory is copied unchanged, but without `.git` and the files that its `.zotignore`
    /// excludes. From a repository, zot fetches a single commit if the server allows it: the given
    /// ref, or the default branch. No code from the package is run. In a terminal, shows the
    /// extension's permissions and asks for confirmation first.
    #[command(after_help = "\
Examples:
  zot ext install ./my-extension
  zot ext install https://github.com/someone/guard#v1.2
  zot ext install git@example.org:someone/guard.git --project")]
    Install(Install),
    /// Remove an extension. Keeps its data unless `--purge` is given.
    #[command(
        visible_alias = "rm",
        after_help = "Example:\n  zot ext remove guard --purge"
    )]
    Remove {
        #[command(flatten)]
        which: Which,
        /// Also delete its data directory and its log.
        #[arg(long)]
        purge: bool,
    },
    /// Give an extension the data of another extension with the same name.
    ///
    /// Data belongs to the source that an extension was installed from, or to its directory. An
    /// extension with the same name from another source gets its own data directory, unless you
    /// assign it the existing one with this command. The previous owner then gets a new, empty
    /// directory.
    #[command(after_help = "Examples:\n  zot ext adopt guard\n  zot ext adopt ./guard")]
    Adopt {
        #[command(flatten)]
        which: Which,
    },
    /// Enable an extension.
    #[command(after_help = "Example:\n  zot ext enable guard")]
    Enable {
        #[command(flatten)]
        which: Which,
    },
    /// Disable an extension. It stays installed but is not started.
    #[command(after_help = "Example:\n  zot ext disable guard")]
    Disable {
        #[command(flatten)]
        which: Which,
    },
    /// Put a guard in audit mode: record what it would block or rewrite, but do not apply it.
    ///
    /// Use this to try a guard before you rely on it. Its answers are recorded even if it fails.
    /// `zot ext why` shows them. The setting is in config.json and takes effect when zot starts;
    /// `zot --audit NAME` applies it to one run.
    #[command(
        after_help = "Examples:\n  zot ext audit guard\n  zot ext audit guard --event tool_call"
    )]
    Audit(Audit),
    /// Take a guard out of audit mode, so that its answers are applied again.
    #[command(after_help = "Example:\n  zot ext enforce guard")]
    Enforce(Audit),
    /// Show what extensions did with the events that they intercepted, and why.
    ///
    /// Shows the most recent session, oldest decision first. Each decision lists the extensions in
    /// the order in which they were asked, with the time that each one took and what it changed.
    #[command(
        after_help = "Examples:\n  zot ext why --last 50\n  zot ext why --tool bash\n  zot ext why --json | jq 'select(.outcome == \"blocked\")'"
    )]
    Why(Why),
    /// Update extensions that were installed from a git repository.
    ///
    /// Fetches the newest commit of each ref and shows the old and the new commit. New permissions
    /// need your consent. Without a name, updates all installed extensions.
    #[command(after_help = "Examples:\n  zot ext update\n  zot ext update guard --yes")]
    Update(Update),
    /// Show which extensions have updates, without installing them.
    #[command(after_help = "Example:\n  zot ext outdated")]
    Outdated {
        /// Allow unencrypted http:// and git:// connections to other machines.
        #[arg(long)]
        allow_insecure: bool,
    },
    Logs(author::Logs),
    Doctor(author::Doctor),
    New(author::New),
    Run(author::Run),
    Call(author::Call),
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// A directory, or a git URL: https, ssh, file or user@host:path, with an optional `#REF`.
    #[arg(value_name = "PATH|GIT-URL[#REF]", value_hint = clap::ValueHint::DirPath)]
    pub(crate) source: String,
    /// The branch, tag or commit to install, instead of `#REF`.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) wanted: Option<String>,
    /// Install for this project only, into `./.zot/extensions`.
    #[arg(long)]
    pub(crate) project: bool,
    /// Replace an extension with the same name, even if it has another source or local changes.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Allow unencrypted http:// and git:// connections to other machines.
    #[arg(long)]
    pub(crate) allow_insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The name of the extension.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: String,
    /// Only for this event, such as `tool_call`. Can be repeated.
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// How many decisions to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,
    /// Only decisions about this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The session whose ID starts with this, instead of the most recent one.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print each decision as a line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The extension's name, directory name or path.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) scoped: Scoped,
    /// Accept new permissions without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Discard local changes to the installed copy.
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow unencrypted http:// and git:// connections to other machines.
    #[arg(long)]
    pub(crate) allow_insecure: bool,
}

/// The extension that a subcommand acts on.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The extension's name, directory name or path.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) scoped: Scoped,
}

/// The scope to search, for a name that exists in both.
#[derive(Debug, Args)]
pub(crate) struct Scoped {
    /// Use the extension in this project (`./.zot/extensions`).
    #[arg(long, conflicts_with = "global")]
    project: bool,
    /// Use the global extension.
    #[arg(long)]
    global: bool,
}

impl Scoped {
    pub(crate) fn scope(&self) -> Option<Scope> {
        match (self.project, self.global) {
            (true, _) => Some(Scope::Project),
            (_, true) => Some(Scope::Global),
            _ => None,
        }
    }
}
