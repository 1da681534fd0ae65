//! `zot` itself: the agent's modes and flags.

use std::{convert::Infallible, fmt, path::PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use zot_protocol::Reasoning;

/// How the agent is run.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// What to do. The interactive mode begins with it in its editor.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// Run the prompt to its end and print the final text, nothing else. Standard input, if piped, is added to it.
    #[arg(short, long, help_heading = "Modes")]
    pub(crate) print: bool,
    /// Run the prompt to its end and print each event as a line of JSON (docs/rpc.md).
    #[arg(long, conflicts_with = "print", help_heading = "Modes")]
    pub(crate) json: bool,
    /// The same as `zot rpc`: run the agent for another program (docs/rpc.md).
    #[arg(long, conflicts_with_all = ["print", "json", "prompt"], help_heading = "Modes")]
    pub(crate) rpc: bool,
    /// Print the models that are known, and who says so.
    #[arg(long, conflicts_with_all = ["print", "json", "rpc", "prompt"], help_heading = "Modes")]
    pub(crate) list_models: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// The flags of all modes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// Who answers: anthropic, openai, ollama, or demo, which needs no key. Without it: whom there is a key for.
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub(crate) provider: Option<String>,
    /// The model, by the provider's name for it.
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// The key. Better in the environment, or kept with `zot auth set`: others can see a command line.
    #[arg(long, value_name = "KEY", value_parser = given_key, help_heading = "Model")]
    pub(crate) api_key: Option<GivenKey>,
    /// Another server that speaks the provider's API.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Model")]
    pub(crate) base_url: Option<String>,
    /// How much the model thinks before it answers.
    #[arg(long, value_name = "HOW MUCH", help_heading = "Model")]
    pub(crate) reasoning: Option<HowMuch>,
    /// Turns that the demo model plays, as JSON Lines.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Model")]
    pub(crate) script: Option<PathBuf>,
    /// In the place of the usual system prompt.
    #[arg(long, value_name = "TEXT", help_heading = "Instructions")]
    pub(crate) system_prompt: Option<String>,
    /// Behind the system prompt. May be given several times.
    #[arg(long, value_name = "TEXT", help_heading = "Instructions")]
    pub(crate) append_system_prompt: Vec<String>,
    /// Do not read AGENTS.md and the like.
    #[arg(long, help_heading = "Instructions")]
    pub(crate) no_context_files: bool,
    /// Offer the skills of the project and the user, too.
    #[arg(long, help_heading = "Instructions")]
    pub(crate) with_skills: bool,
    /// Offer no skills at all.
    #[arg(
        long,
        alias = "no-skills",
        conflicts_with = "with_skills",
        help_heading = "Instructions"
    )]
    pub(crate) no_skill: bool,
    /// Offer the model no tools.
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_tools: bool,
    /// Offer the model these tools only, those of extensions included.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "no_tools",
        help_heading = "Tools"
    )]
    pub(crate) tools: Option<Vec<String>>,
    /// Ask before each tool call. Interactive mode only.
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_yolo: bool,
    /// Confine the built-in tools to the working directory.
    #[arg(long, help_heading = "Tools")]
    pub(crate) jail: bool,
    /// How often the model may be called for one prompt.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Tools"
    )]
    pub(crate) max_steps: Option<u32>,
    /// Work in this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Tools")]
    pub(crate) cwd: Option<PathBuf>,
    /// Start this extension too, before the installed ones. May be given several times.
    #[arg(
        short,
        long = "ext",
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        help_heading = "Extensions"
    )]
    pub(crate) ext: Vec<PathBuf>,
    /// Start no installed extensions.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) no_ext: bool,
    /// Start the project's extensions without asking. Also with `ZOT_TRUST_PROJECT=1`.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) trust_project: bool,
    /// Refuse extensions whose permissions cannot be enforced here.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) strict_permissions: bool,
    /// Write what passes between zot and the extensions as a transcript for zot-conform.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Extensions")]
    pub(crate) record: Option<PathBuf>,
    /// Go on with the last session of this directory.
    #[arg(short = 'c', long = "continue", help_heading = "Session")]
    pub(crate) go_on: bool,
    /// Go on with a session that is picked from a list, or with the one whose id begins so.
    #[arg(
        short,
        long,
        value_name = "ID",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "go_on",
        help_heading = "Session"
    )]
    pub(crate) resume: Option<String>,
    /// Go on with the session in this file, or begin it there.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["go_on", "resume"],
        help_heading = "Session"
    )]
    pub(crate) session: Option<PathBuf>,
    /// Keep nothing.
    #[arg(long, conflicts_with_all = ["go_on", "resume", "session"], help_heading = "Session")]
    pub(crate) no_session: bool,
    /// How much is said on standard error.
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        help_heading = "Output"
    )]
    pub(crate) log_level: LogLevel,
}

/// How much is said on standard error, each with what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing but why the run failed.
    Off,
    /// What went wrong.
    Error,
    /// What may be wrong.
    Warn,
    /// Notes of extensions.
    #[default]
    Info,
    /// Turns and tool calls as they happen.
    Debug,
}

/// How much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HowMuch {
    /// Not at all, where it can do without.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl From<HowMuch> for Reasoning {
    fn from(how_much: HowMuch) -> Self {
        match how_much {
            HowMuch::Off => Self::Off,
            HowMuch::Low => Self::Low,
            HowMuch::Medium => Self::Medium,
            HowMuch::High => Self::High,
        }
    }
}

/// A key as it was given. It does not print.
#[derive(Clone)]
pub(crate) struct GivenKey(pub(crate) String);

impl fmt::Debug for GivenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GivenKey(…)")
    }
}

/// Never fails: an error of the parser would repeat it.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a parser")]
fn given_key(text: &str) -> Result<GivenKey, Infallible> {
    Ok(GivenKey(text.to_owned()))
}
