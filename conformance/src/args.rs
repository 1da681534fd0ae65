//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};

/// Does this extension keep the zot extension protocol?
///
/// Give it the directory of an extension: it starts it, plays the host, tries everything the extension registers, and
/// explains what it finds. It needs no model, no network, and no knowledge of the extension.
///
/// A directory that is called like one of the commands is given as a path: `./list`.
#[derive(Debug, Parser)]
#[command(
    name = "zot-conform",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        zot-conform ./my-ext                     every check that applies\n  \
        zot-conform ./my-ext --profile full      hostile arguments, too\n  \
        zot-conform call ./my-ext weather '{\"city\":\"Berlin\"}'\n  \
        zot-conform explain TOL-05\n\n\
        Exit codes:\n  \
        0 conforms, 1 does not, 2 usage or nothing was tried, 3 could not start or shake hands,\n  \
        4 a fault of zot-conform itself, 5 the baseline names what passes by now"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try every check that applies, then play the transcripts in DIR/conform
    Run(Run),
    /// Play transcripts against the extension
    ///
    /// DIR may be left out where a transcript names its extension, or lies in its folder `conform`.
    #[command(
        after_help = "Examples:\n  zot-conform replay conform/rain.zt.ndjson\n  zot-conform replay rain.zt.ndjson ./my-ext\n  zot-conform replay tol-05-3f2a9c            a failure that a run has kept\n  zot-conform replay --as-extension rain.zt.ndjson\n                                              as the extension, on stdin and stdout, to test a host"
    )]
    Replay(Replay),
    /// Play the host from a script or from the keyboard, and write a transcript
    #[command(
        after_help = "Example:\n  printf '%s\\n' '/hello world' 'call weather {\"city\":\"Berlin\"}' shutdown |\n    zot-conform record ./my-ext -o ./my-ext/conform/first.zt.ndjson"
    )]
    Record(Record),
    /// Take what the extension says now into a transcript, keeping its matchers
    Accept {
        /// The transcript; it is rewritten
        file: PathBuf,
        /// The extension's directory
        dir: Option<PathBuf>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Call a tool once and print the frames
    #[command(after_help = "Example:\n  zot-conform call ./my-ext weather '{\"city\":\"Berlin\"}'")]
    Call {
        /// The extension's directory
        dir: PathBuf,
        /// The tool's name
        tool: String,
        /// Its arguments; without them the smallest that its schema allows
        json: Option<String>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Invoke a slash command once and print the frames
    #[command(after_help = "Example:\n  zot-conform command ./my-ext todo add milk")]
    #[command(name = "command")]
    Invoke {
        /// The extension's directory
        dir: PathBuf,
        /// The command's name, without the slash
        name: String,
        /// What followed the name
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Ask about an event once and print the frames
    #[command(
        after_help = "Example:\n  zot-conform intercept ./guard tool_call '{\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"rm -rf /\"}}'"
    )]
    Intercept {
        /// The extension's directory
        dir: PathBuf,
        /// The event: `tool_call`, `assistant_message` …
        event: String,
        /// The event's fields; without them a plausible example
        json: Option<String>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Check a stream of frames, one JSON object per line, against the schemas
    ///
    /// Exit code: 0 all are valid, 1 some are not, 2 there was nothing to check.
    #[command(after_help = "Example:\n  ./my-ext < /dev/null | zot-conform validate -")]
    Validate {
        /// Who has sent the frames
        #[arg(long, value_enum, default_value = "ext")]
        from: From,
        /// The file with the frames; `-` is standard input
        file: PathBuf,
    },
    /// Write the list of what fails now, for `--baseline`
    ///
    /// With the list, what is on it does not fail a run any more; what is on it and passes does (exit code 5), so that
    /// the list gets shorter.
    #[command(
        after_help = "Example:\n  zot-conform baseline conform/known.txt . && zot-conform . --baseline conform/known.txt"
    )]
    Baseline {
        /// The list
        file: PathBuf,
        #[command(flatten)]
        run: Run,
    },
    /// List the catalogue of checks
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a check: what it does, why it matters, what to do
    #[command(after_help = "Example:\n  zot-conform explain TOL-05")]
    Explain {
        /// Its id, or a pattern: `TOL-*`
        id: String,
    },
    /// Print what makes a shell complete the commands and flags
    #[command(
        after_help = "Example:\n  echo 'source <(zot-conform completions bash)' >> ~/.bashrc"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man {
        /// The directory; it is made
        dir: PathBuf,
    },
}

/// What is tried, and how it is told.
#[derive(Debug, Flags)]
pub(crate) struct Run {
    /// The extension's directory
    pub(crate) dir: Option<PathBuf>,
    /// A command to test in place of a directory
    #[arg(last = true, value_name = "CMD", conflicts_with = "dir")]
    pub(crate) command: Vec<String>,
    /// Only checks whose id fits: `TOL-*`; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// No check whose id fits; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip: Vec<String>,
    /// The lowest level that is tried
    #[arg(long, value_enum)]
    pub(crate) level: Option<Level>,
    /// A warning fails the run
    #[arg(long)]
    pub(crate) strict: bool,
    /// How far to go: quick is for a save hook, safe calls with minimal valid arguments, full with hostile ones
    #[arg(long, value_enum, default_value = "safe")]
    pub(crate) profile: Profile,
    /// What random arguments are made from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many checks at once
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run again whenever a file of the extension changes
    #[arg(long, requires = "dir")]
    pub(crate) watch: bool,
    /// Try what the failure of another check blocks, too
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// The form of the report: pretty, json, junit, tap, github, html, each with an optional =PATH; repeatable
    #[arg(long, value_name = "FORM[=PATH]")]
    pub(crate) report: Vec<String>,
    /// Known failures: those in FILE do not fail the run, and one that passes by now does
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// Which transcripts are played, and how it is told.
#[derive(Debug, Flags)]
pub(crate) struct Replay {
    /// The transcripts, or the ids of failures that were kept; then the extension's directory
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Be the extension, on stdin and stdout, and check what the host says
    #[arg(long)]
    pub(crate) as_extension: bool,
    /// A warning fails it
    #[arg(long)]
    pub(crate) strict: bool,
    /// How many transcripts at once
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The form of the report, as for a run; repeatable
    #[arg(long, value_name = "FORM[=PATH]")]
    pub(crate) report: Vec<String>,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// What is recorded.
#[derive(Debug, Flags)]
pub(crate) struct Record {
    /// The extension's directory
    pub(crate) dir: PathBuf,
    /// The transcript to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// What the host says, line by line; without it, what is typed or piped in
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// Deadlines, and what is shown meanwhile.
#[derive(Debug, Clone, Flags)]
pub(crate) struct Timing {
    /// Multiplies every deadline, for a slow machine
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) timeout_scale: f64,
    /// How long it may take to say hello, in seconds
    #[arg(long, value_name = "S")]
    pub(crate) startup_timeout: Option<f64>,
    /// Print every frame, both ways, as it passes
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum From {
    /// An extension
    Ext,
    /// A host
    Host,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    /// What must hold
    Must,
    /// What must and what should hold
    Should,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Profile {
    /// One of each
    Quick,
    /// All that minimal valid arguments can show
    Safe,
    /// Hostile arguments and every key of a panel, too
    Full,
}
