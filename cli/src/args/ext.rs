//! `zot ext …`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use zot_host::extension::discover::Scope;

use super::{author, complete};

#[derive(Debug, Subcommand)]
pub(crate) enum Ext {
    /// Show what is installed, and what it registered when it last ran.
    ///
    /// Both scopes are shown in the order they are loaded in: the project's (`./.zot/extensions`), then the global ones.
    /// `changed` means that the files are not those that were installed. With --json the fields are those of
    /// docs/packages.md.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  zot ext list --json | jq -r '.extensions[] | select(.changed) | .name'"
    )]
    List {
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Install an extension from a directory or a git repository.
    ///
    /// A directory is copied as it is, without `.git`. Of a repository one commit is fetched: of the ref named, or of the
    /// default branch. Nothing of the package is run. What it may touch is shown first, and asked about on a terminal.
    #[command(after_help = "\
Examples:
  zot ext install ./my-extension
  zot ext install https://github.com/someone/guard#v1.2
  zot ext install git@example.org:someone/guard.git --project")]
    Install(Install),
    /// Remove an extension. Its data stays, unless --purge.
    #[command(
        visible_alias = "rm",
        after_help = "Example:\n  zot ext remove guard --purge"
    )]
    Remove {
        #[command(flatten)]
        which: Which,
        /// Take what it has kept too: its data directory and its log.
        #[arg(long)]
        purge: bool,
    },
    /// Let an extension have the data that another one of its name has kept.
    ///
    /// An extension's data belongs to what it was installed from, or to its directory. One of the same name from elsewhere
    /// keeps its own, unless you hand it the other's here. The other one gets a new, empty directory.
    #[command(after_help = "Examples:\n  zot ext adopt guard\n  zot ext adopt ./guard")]
    Adopt {
        #[command(flatten)]
        which: Which,
    },
    /// Let an extension be started again.
    #[command(after_help = "Example:\n  zot ext enable guard")]
    Enable {
        #[command(flatten)]
        which: Which,
    },
    /// Keep an extension from being started. It stays installed, and keeps its name.
    #[command(after_help = "Example:\n  zot ext disable guard")]
    Disable {
        #[command(flatten)]
        which: Which,
    },
    /// Bring what came from a repository to its ref's newest commit.
    ///
    /// The old and the new commit are shown, and what the new version may touch that the old one could not; that needs
    /// your consent. Without a name: everything that is installed.
    #[command(after_help = "Examples:\n  zot ext update\n  zot ext update guard --yes")]
    Update {
        /// Which one, by its name, its directory's name or its path.
        #[arg(add = ArgValueCompleter::new(complete::installed))]
        name: Option<String>,
        #[command(flatten)]
        scoped: Scoped,
        /// Agree to what the new version may touch.
        #[arg(long, short)]
        yes: bool,
        /// Discard what was changed in the installed copy.
        #[arg(long)]
        force: bool,
        /// Fetch over http or git from elsewhere than this machine.
        #[arg(long)]
        allow_insecure: bool,
    },
    /// Show what `update` would update, without doing it.
    #[command(after_help = "Example:\n  zot ext outdated")]
    Outdated {
        /// Ask over http or git elsewhere than on this machine.
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
    /// A directory, or the URL of a repository: https, ssh, file or user@host:path, with the ref after a `#`.
    #[arg(value_name = "PATH|GIT-URL[#REF]", value_hint = clap::ValueHint::DirPath)]
    pub(crate) source: String,
    /// The branch, tag or commit to take, instead of `#REF`.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) wanted: Option<String>,
    /// Install for this project, into `./.zot/extensions`.
    #[arg(long)]
    pub(crate) project: bool,
    /// Replace one of this name that came from elsewhere, or that was changed.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Fetch over http or git from elsewhere than this machine.
    #[arg(long)]
    pub(crate) allow_insecure: bool,
}

/// One extension.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Which one, by its name, its directory's name or its path.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) scoped: Scoped,
}

/// Which of the two scopes, where a name is in both.
#[derive(Debug, Args)]
pub(crate) struct Scoped {
    /// The project's one, in `./.zot/extensions`.
    #[arg(long, conflicts_with = "global")]
    project: bool,
    /// The global one.
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
