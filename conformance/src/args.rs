//! The command line.

use std::path::PathBuf;

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};
use zot_conform::{Profile, Sender};

/// Check whether an extension conforms to the zot extension protocol
///
/// Starts the extension in DIR, acts as its host, tests everything it registers, and explains each
/// problem. It needs no model, no network, and no knowledge of the extension.
///
/// If the directory has the same name as a subcommand, pass it as a path: `./list`.
#[derive(Debug, Parser)]
#[command(
    name = "zot-conform",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        zot-conform ./my-ext                     run every check that applies\n  \
        zot-conform ./my-ext --profile full      also try hostile arguments\n  \
        zot-conform call ./my-ext weather '{\"city\":\"Berlin\"}'\n  \
        zot-conform explain TOL-05\n\n\
        Exit codes:\n  \
        0 conforms, 1 does not conform, 2 usage error or nothing was tested,\n  \
        3 the extension failed to start or complete the handshake,\n  \
        4 internal error in zot-conform, 5 the baseline lists checks that now pass"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every check that applies, then replay the transcripts in DIR/conform
    Run(Run),
    /// Replay transcripts against the extension
    ///
    /// DIR can be omitted if the transcript's header specifies the extension, or if the transcript
    /// is in the extension's `conform` directory.
    #[command(
        after_help = "Examples:\n  zot-conform replay conform/rain.zt.ndjson\n  zot-conform replay rain.zt.ndjson ./my-ext\n  zot-conform replay tol-05-3f2a9c            a failure saved by a run\n  zot-conform replay --as-extension rain.zt.ndjson\n                                              act as the extension, to test a host"
    )]
    Replay(Replay),
    /// Act as the host, from a script or interactively, and record a transcript
    #[command(
        after_help = "Example:\n  printf '%s\\n' '/hello world' 'call weather {\"city\":\"Berlin\"}' shutdown |\n    zot-conform record ./my-ext -o ./my-ext/conform/first.zt.ndjson"
    )]
    Record(Record),
    /// Update a transcript with what the extension sends now, keeping its matchers
    Accept {
        /// The transcript to update
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
        /// Arguments as JSON [default: the smallest that the schema allows]
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
        /// The command's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Send an interception request for an event and print the frames
    #[command(
        after_help = "Example:\n  zot-conform intercept ./guard tool_call '{\"tool_name\":\"bash\",\"tool_args\":{\"command\":\"rm -rf /\"}}'"
    )]
    Intercept {
        /// The extension's directory
        dir: PathBuf,
        /// The event: `tool_call`, `assistant_message` …
        event: String,
        /// The event's fields as JSON [default: an example]
        json: Option<String>,
        #[command(flatten)]
        timing: Timing,
    },
    /// Validate frames, one JSON object per line, against the schemas
    ///
    /// Exit codes: 0 if all frames are valid, 1 if some are invalid, 2 if there are no frames.
    #[command(after_help = "Example:\n  ./my-ext < /dev/null | zot-conform validate -")]
    Validate {
        /// The sender of the frames
        #[arg(long, value_enum, default_value = "ext")]
        from: Sender,
        /// The file to validate, or `-` for standard input
        file: PathBuf,
    },
    /// Write a list of the current failures, for `--baseline`
    ///
    /// A run with `--baseline` ignores the failures in the list. If a listed check passes, the run
    /// exits with code 5, so that the list stays up to date.
    #[command(
        after_help = "Example:\n  zot-conform baseline conform/known.txt . && zot-conform . --baseline conform/known.txt"
    )]
    Baseline {
        /// The file to write
        file: PathBuf,
        #[command(flatten)]
        run: Run,
    },
    /// List all checks
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a check: what it does, why it matters, and how to fix a failure
    #[command(after_help = "Example:\n  zot-conform explain TOL-05")]
    Explain {
        /// The id of a check, or a pattern such as `TOL-*`
        id: String,
    },
    /// Generate shell completions
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
        /// The output directory, created if missing
        dir: PathBuf,
    },
}

/// The options of a run.
#[derive(Debug, Flags)]
pub(crate) struct Run {
    /// The extension's directory
    pub(crate) dir: Option<PathBuf>,
    /// A command to test instead of a directory
    #[arg(last = true, value_name = "CMD", conflicts_with = "dir")]
    pub(crate) command: Vec<String>,
    /// Run only checks whose id matches, such as `TOL-*`; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Skip checks whose id matches; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip: Vec<String>,
    /// Run only checks of this level and above
    #[arg(long, value_enum)]
    pub(crate) level: Option<Level>,
    /// Treat warnings as failures
    #[arg(long)]
    pub(crate) strict: bool,
    /// How thorough to be
    #[arg(long, value_enum, default_value = "safe")]
    pub(crate) profile: Profile,
    /// The seed for random arguments
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How long to wait for a reply, in seconds [default: the manifest's timeout, or 4]
    ///
    /// A host waits 60 seconds for a tool or a command. If no reply comes within S seconds, the check
    /// is `not exercised`.
    #[arg(long, value_name = "S")]
    pub(crate) reply_timeout: Option<f64>,
    /// The number of checks to run in parallel
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run again when one of the extension's files changes
    #[arg(long, requires = "dir")]
    pub(crate) watch: bool,
    /// Also run checks that a failed check would block
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// The report format: pretty, json, junit, tap, github or html, with an optional =PATH; repeatable
    #[arg(long, value_name = "FORM[=PATH]")]
    pub(crate) report: Vec<String>,
    /// Ignore the known failures listed in FILE, and fail if one of them passes
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// The options of a replay.
#[derive(Debug, Flags)]
pub(crate) struct Replay {
    /// Transcripts or ids of saved failures, followed by the extension's directory
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Act as the extension on stdin and stdout, and check what the host sends
    #[arg(long)]
    pub(crate) as_extension: bool,
    /// Treat warnings as failures
    #[arg(long)]
    pub(crate) strict: bool,
    /// The number of transcripts to replay in parallel
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The report format, as for `run`; repeatable
    #[arg(long, value_name = "FORM[=PATH]")]
    pub(crate) report: Vec<String>,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// The options of a recording.
#[derive(Debug, Flags)]
pub(crate) struct Record {
    /// The extension's directory
    pub(crate) dir: PathBuf,
    /// The transcript to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The script to play, line by line [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) timing: Timing,
}

/// Timeouts, and whether frames are printed.
#[derive(Debug, Clone, Flags)]
pub(crate) struct Timing {
    /// Multiply every timeout, for slow machines
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) timeout_scale: f64,
    /// The timeout for `hello`, in seconds
    #[arg(long, value_name = "S")]
    pub(crate) startup_timeout: Option<f64>,
    /// Print every frame that is sent or received
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    /// Only MUST rules
    Must,
    /// MUST and SHOULD rules
    Should,
}
