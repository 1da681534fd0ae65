//! The subcommands of `zot ext` for whoever writes an extension, or wonders what one is doing.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::complete;
use crate::author::new::Language;

/// Show or follow the log of an extension.
///
/// It holds what the extension says on standard error; lines that begin with `[zot]` are zot's. Control sequences are taken out. An extension that is not installed any more
/// may still have a log.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext logs guard\n  zot ext logs guard -f\n  zot ext logs guard -n 1000 | grep error"
)]
pub(crate) struct Logs {
    /// Whose log.
    #[arg(add = ArgValueCompleter::new(complete::logged))]
    pub(crate) name: String,
    /// Go on with what is added, until Ctrl-C.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How many of the last lines.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub(crate) lines: usize,
}

/// Begin a new extension in ./NAME, with a command and a tool that work.
///
/// It needs no permissions and passes `zot-conform`; a transcript says what is expected of it, and its README what to
/// change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zot ext new weather --lang python
  zot ext new weather --lang rust --sdk ~/src/zot/sdk")]
pub(crate) struct New {
    /// Its name, and that of its directory.
    pub(crate) name: String,
    /// What it is written in. TypeScript comes compiled, and needs node alone; bash needs jq.
    #[arg(
        long,
        value_enum,
        // In the usage line too, which is all that whoever leaves it out is shown.
        value_name = "rust|python|typescript|bash",
        hide_possible_values = true
    )]
    pub(crate) lang: Language,
    /// For Rust: the directory of the crate `zot-sdk`. Without it, the published one.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) sdk: Option<PathBuf>,
}

/// Start each extension as zot would, and say how that went.
///
/// Said of each: whether it starts and how long that takes, what it registers, whose names it loses to others, what it
/// may touch and whether that is enforced, and where its log is. ✓ is well, ! works but wants a look, ✗ is broken, –
/// takes no part. Exit code: 1 if anything is broken.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext doctor\n  zot ext doctor guard\n  zot ext doctor --json | jq '.extensions[] | select(.verdict == \"broken\") | .name'"
)]
pub(crate) struct Doctor {
    /// Only this one, by its name or its directory's. The others are started too: they may have its names.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: Option<String>,
    /// Print JSON for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run one command of one extension, without a model, and print its answer.
///
/// What the answer would do in zot is said on standard error: a prompt that would be submitted, a text that would be put
/// into the editor. Exit code: 1 if the answer is an error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext run . weather Berlin\n  zot ext run --json guard /guard"
)]
pub(crate) struct Run {
    /// The name of an installed extension, or the directory of any.
    #[arg(value_name = "NAME|DIR", add = ArgValueCompleter::new(complete::installed_or_directory))]
    pub(crate) extension: String,
    /// The command, with or without its slash.
    pub(crate) command: String,
    /// What follows it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Print the answer as the extension sent it. Comes before the command.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Call one tool of one extension, without a model, and print its result.
///
/// No other extension sees the call. Exit code: 1 if the result is an error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zot ext call . forecast '{\"city\": \"Berlin\"}'
  zot ext call weather forecast - < arguments.json
  zot ext call weather forecast '{\"city\": \"Berlin\"}' --json | jq .content")]
pub(crate) struct Call {
    /// The name of an installed extension, or the directory of any.
    #[arg(value_name = "NAME|DIR", add = ArgValueCompleter::new(complete::installed_or_directory))]
    pub(crate) extension: String,
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments, a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// Print the result as the extension sent it.
    #[arg(long)]
    pub(crate) json: bool,
}
