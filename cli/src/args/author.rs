//! The subcommands of `zot ext` for writing and debugging extensions.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::complete;
use crate::author::new::Language;

/// Show or follow the log of an extension.
///
/// The log contains the extension's standard error and zot's own lines, which are marked `[zot]`.
/// Each line starts with the time (UTC). Control sequences are removed. An extension that was
/// removed can still have a log.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext logs guard\n  zot ext logs guard -f\n  zot ext logs guard -n 1000 | grep error"
)]
pub(crate) struct Logs {
    /// The name of the extension.
    #[arg(add = ArgValueCompleter::new(complete::logged))]
    pub(crate) name: String,
    /// Print new lines as they are written, until Ctrl-C.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The number of lines to show.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub(crate) lines: usize,
}

/// Create a new extension in ./NAME, with a working command and tool.
///
/// The extension needs no permissions and passes `zot-conform`. It includes a transcript that tests
/// it and a README that explains what to change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zot ext new weather --lang python
  zot ext new weather --lang rust --sdk ~/src/zot/sdk")]
pub(crate) struct New {
    /// The name of the extension and its directory.
    pub(crate) name: String,
    /// The language of the new extension. The TypeScript code is already compiled and needs only
    /// Node; the bash code needs jq.
    #[arg(
        long,
        value_enum,
        // Listed here because clap's error for a missing `--lang` shows only the usage line.
        value_name = "rust|python|typescript|bash",
        hide_possible_values = true
    )]
    pub(crate) lang: Language,
    /// For Rust: the directory of the `zot-sdk` crate. Defaults to the published crate.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) sdk: Option<PathBuf>,
}

/// Start each extension and report problems.
///
/// Reports for each extension: whether it starts and how long that takes, what it registers, which
/// of its names are shadowed by other extensions, its permissions and whether they are enforced,
/// and where its log is. ✓ means that the extension is healthy, ! that it works but has warnings, ✗
/// that it is broken, and – that it was not started. Exits with code 1 if any extension is broken.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext doctor\n  zot ext doctor guard\n  zot ext doctor --json | jq '.extensions[] | select(.verdict == \"broken\") | .name'"
)]
pub(crate) struct Doctor {
    /// Report only the extension with this name or directory name. The others are still started,
    /// because they can register the same names.
    #[arg(add = ArgValueCompleter::new(complete::installed))]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run an extension's command, without a model, and print its response.
///
/// Reports on standard error what zot would do with the response: submit a prompt, or insert text
/// into the editor. Exits with code 1 if the response is an error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zot ext run . weather Berlin\n  zot ext run --json guard /guard"
)]
pub(crate) struct Run {
    /// The name of an installed extension, or the path of an extension's directory.
    #[arg(value_name = "NAME|DIR", add = ArgValueCompleter::new(complete::installed_or_directory))]
    pub(crate) extension: String,
    /// The command, with or without the leading slash.
    pub(crate) command: String,
    /// The arguments to pass to the command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Print the response as the extension sent it. Must come before the command.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Call an extension's tool, without a model, and print its result.
///
/// No other extension sees the call. Exits with code 1 if the result is an error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zot ext call . forecast '{\"city\": \"Berlin\"}'
  zot ext call weather forecast - < arguments.json
  zot ext call weather forecast '{\"city\": \"Berlin\"}' --json | jq .content")]
pub(crate) struct Call {
    /// The name of an installed extension, or the path of an extension's directory.
    #[arg(value_name = "NAME|DIR", add = ArgValueCompleter::new(complete::installed_or_directory))]
    pub(crate) extension: String,
    /// The name of the tool.
    pub(crate) tool: String,
    /// The arguments, as a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// Print the result as the extension sent it.
    #[arg(long)]
    pub(crate) json: bool,
}
