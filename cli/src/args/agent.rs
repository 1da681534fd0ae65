//! `zot` itself: the agent's modes and flags.

use std::{convert::Infallible, fmt, path::PathBuf, time::Duration};

use clap::{
    Args, ValueEnum, ValueHint,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use zot_protocol::Reasoning;

/// The mode to run in, the prompt, and the flags.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// The prompt. In interactive mode, it is placed in the editor.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// Run the prompt and print only the final answer. Piped stdin is appended to the prompt.
    #[arg(short, long, group = "once", help_heading = "Modes")]
    pub(crate) print: bool,
    /// Run the prompt and print each event as a line of JSON (see docs/rpc.md).
    #[arg(long, conflicts_with = "print", group = "once", help_heading = "Modes")]
    pub(crate) json: bool,
    /// Run the agent for another program; same as `zot rpc` (see docs/rpc.md).
    #[arg(long, conflicts_with_all = ["print", "json", "prompt"], help_heading = "Modes")]
    pub(crate) rpc: bool,
    /// List known models and where each is defined. With --provider, also ask its server.
    #[arg(long, conflicts_with_all = ["print", "json", "rpc", "prompt"], help_heading = "Modes")]
    pub(crate) list_models: bool,
    /// Give up after this time, such as `90s` or `10m` (with -p or --json).
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        requires = "once",
        help_heading = "Modes"
    )]
    pub(crate) timeout: Option<Duration>,
    /// Require an answer that matches the JSON Schema in this file (with -p or --json).
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "once",
        help_heading = "Modes"
    )]
    pub(crate) output_schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// The flags that all modes share.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// The model provider, such as anthropic, openai, gemini, openrouter or ollama, one of
    /// `providers` in config.json, or demo (needs no API key). Defaults to anthropic or openai,
    /// whichever has an API key.
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub(crate) provider: Option<String>,
    /// The model to use, as named by the provider.
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// The API key. Prefer an environment variable or `zot auth set`: other users on this machine
    /// can read command-line arguments.
    #[arg(long, value_name = "KEY", value_parser = given_key, help_heading = "Model")]
    pub(crate) api_key: Option<GivenKey>,
    /// Use another server that implements the provider's API.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Model")]
    pub(crate) base_url: Option<String>,
    /// How much the model reasons before it answers.
    #[arg(long, value_name = "LEVEL", value_parser = reasoning_levels(), help_heading = "Model")]
    pub(crate) reasoning: Option<Reasoning>,
    /// A file of scripted turns for the demo model, as JSON Lines.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Model")]
    pub(crate) script: Option<PathBuf>,
    /// Replace the built-in system prompt. Project instructions and skills are still added.
    #[arg(long, value_name = "TEXT", help_heading = "Instructions")]
    pub(crate) system_prompt: Option<String>,
    /// Append to the system prompt. Can be repeated.
    #[arg(long, value_name = "TEXT", help_heading = "Instructions")]
    pub(crate) append_system_prompt: Vec<String>,
    /// Do not read AGENTS.md, CLAUDE.md and SYSTEM.md.
    #[arg(long, help_heading = "Instructions")]
    pub(crate) no_context_files: bool,
    /// Also offer the project's and the user's skills to the model.
    #[arg(long, help_heading = "Instructions")]
    pub(crate) with_skills: bool,
    /// Disable all skills.
    #[arg(
        long,
        alias = "no-skills",
        conflicts_with = "with_skills",
        help_heading = "Instructions"
    )]
    pub(crate) no_skill: bool,
    /// Disable all tools.
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_tools: bool,
    /// Offer the model only these tools, including tools from extensions.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "no_tools",
        help_heading = "Tools"
    )]
    pub(crate) tools: Option<Vec<String>>,
    /// Ask before each tool call (interactive mode only).
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_yolo: bool,
    /// Run tools without asking, even if `confirm` or a rule in config.json says to ask.
    #[arg(long, overrides_with = "no_yolo", help_heading = "Tools")]
    pub(crate) yolo: bool,
    /// Restrict the built-in tools to the working directory.
    #[arg(long, help_heading = "Tools")]
    pub(crate) jail: bool,
    /// Do not restrict the built-in tools, even if `jail` is set in config.json.
    #[arg(long, overrides_with = "jail", help_heading = "Tools")]
    pub(crate) no_jail: bool,
    /// Maximum number of model calls per prompt.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Tools"
    )]
    pub(crate) max_steps: Option<u32>,
    /// Run in this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Tools")]
    pub(crate) cwd: Option<PathBuf>,
    /// Also load the extension in this directory, before installed ones. Can be repeated.
    #[arg(
        short,
        long = "ext",
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        help_heading = "Extensions"
    )]
    pub(crate) ext: Vec<PathBuf>,
    /// Do not load installed extensions.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) no_ext: bool,
    /// Load the project's extensions without asking. Can also be set with `ZOT_TRUST_PROJECT=1`.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) trust_project: bool,
    /// Refuse to start extensions whose permissions cannot be enforced on this system.
    #[arg(long, help_heading = "Extensions")]
    pub(crate) strict_permissions: bool,
    /// Record what this extension would block or rewrite, but do not apply it. Can be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Extensions")]
    pub(crate) audit: Vec<String>,
    /// Record the frames exchanged with extensions as a transcript for zot-conform.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Extensions")]
    pub(crate) record: Option<PathBuf>,
    /// Continue the most recent session in this directory.
    #[arg(short = 'c', long = "continue", help_heading = "Session")]
    pub(crate) go_on: bool,
    /// Resume a session: pick one from a list, or specify the start of its ID.
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
    /// Use the session in this file, which is created if it does not exist.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["go_on", "resume"],
        help_heading = "Session"
    )]
    pub(crate) session: Option<PathBuf>,
    /// Do not save the session.
    #[arg(long, conflicts_with_all = ["go_on", "resume", "session"], help_heading = "Session")]
    pub(crate) no_session: bool,
    /// How much to log to standard error.
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        help_heading = "Output"
    )]
    pub(crate) log_level: LogLevel,
}

/// How much to log to standard error. Each level includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(crate) enum LogLevel {
    /// Only the reason why a run failed.
    Off,
    /// Errors.
    Error,
    /// Warnings.
    Warn,
    /// Notes from extensions.
    #[default]
    Info,
    /// Turns and tool calls as they happen.
    Debug,
}

/// The reasoning levels, with their descriptions for `--help`.
fn reasoning_levels() -> impl TypedValueParser<Value = Reasoning> {
    let levels = [
        ("off", "No reasoning, for models that allow it"),
        ("low", "A little reasoning"),
        ("medium", "Some reasoning"),
        ("high", "A lot of reasoning"),
    ];
    PossibleValuesParser::new(levels.map(|(name, about)| PossibleValue::new(name).help(about)))
        .try_map(|name| serde_json::from_value(name.into()))
}

/// An API key from the command line. Its `Debug` output hides the key.
#[derive(Clone)]
pub(crate) struct GivenKey(pub(crate) String);

impl fmt::Debug for GivenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GivenKey(…)")
    }
}

/// Never fails, because clap would repeat the key in its error message.
#[expect(clippy::unnecessary_wraps, reason = "clap's value parser signature")]
fn given_key(text: &str) -> Result<GivenKey, Infallible> {
    Ok(GivenKey(text.to_owned()))
}
