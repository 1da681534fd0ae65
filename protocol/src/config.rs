//! `$ZOT_HOME/config.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ApprovalRule, InterceptName, Object, OnFailure, absent::or_default, integer::optional_integer,
};

/// The user's configuration. All fields are optional. Command-line flags override it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{
    "provider": "anthropic", "model": "claude-opus-4-5", "reasoning": "medium", "theme": "dark",
    "notify": "off",
    "confirm": true, "jail": true,
    "approvals": [{"tool": "bash", "command": "git push*", "do": "ask"}, {"tool": "bash", "command": "git *", "do": "allow"}],
    "providers": {"lab": {"base_url": "https://llm.example.com/v1", "key_env": "LAB_API_KEY", "models": ["qwen3-coder"]}},
    "decisions": "summary",
    "extensions": {
        "guard": {"on_failure": {"tool_call": "block"}}, "redact": {"intercept": {"tool_result": {"mode": "audit"}}}
    }
}]))]
#[non_exhaustive]
pub struct Config {
    /// The location of this schema, for editors. zot ignores it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The model provider: a built-in one such as `anthropic`, `openai`, `gemini` or `ollama`, or
    /// one of `providers`. Absent: the provider that has credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, as the provider names it. Absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much the model thinks before it answers. Absent: the model's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The colour theme of interactive mode. Absent: zot chooses one that suits the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// How interactive mode reports the end of a turn that took more than ten seconds, if the
    /// terminal is not focused. Absent: `bell`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<TurnNotice>,
    /// Whether zot asks before each tool call that no rule in `approvals` matches, as with
    /// `--no-yolo`. Only interactive mode can ask; the other modes refuse to start unless `--yolo` is
    /// passed. Absent: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
    /// Rules that decide which tool calls need confirmation; the first one that matches a call
    /// applies. Non-interactive modes refuse calls that need confirmation. Absent: no rules, and
    /// `confirm` decides.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalRule>,
    /// Whether the built-in tools are restricted to the working directory, as with `--jail`.
    /// Absent: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jail: Option<bool>,
    /// How many seconds zot keeps retrying a model call that fails because the provider is
    /// overloaded or cannot be reached, from the first failure. 0: it does not retry. Absent: 300.
    #[serde(default, deserialize_with = "optional_integer")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_seconds: Option<u32>,
    /// Model providers by name, for `provider` and `--provider`. An entry with the name of a
    /// built-in provider changes it. Absent: only the built-in ones.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Settings by extension name. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, ExtensionConfig>,
    /// What zot records about the decisions of interceptors, for `zot ext why`. Absent: `summary`.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<DecisionDetail>,
    /// The user's decisions about project-local extensions, by extension directory. Written by zot.
    /// Absent: none yet.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub trusted: BTreeMap<String, Trust>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Reasoning {
    /// No reasoning, if the model allows that.
    Off,
    /// A small amount of reasoning.
    Low,
    /// A medium amount of reasoning.
    Medium,
    /// As much reasoning as possible.
    High,
}

/// How to tell the user that a long turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum TurnNotice {
    /// Rings the terminal's bell.
    Bell,
    /// Does nothing.
    Off,
}

/// A model provider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// The server's API. Absent: that of the built-in provider; `openai` for a new provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<ProviderApi>,
    /// The start of all request URLs, such as `https://api.groq.com/openai/v1`. Absent: that of the
    /// built-in provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the API key. Absent: that of the built-in provider; a
    /// new provider, or one with a `base_url`, uses a key stored with `zot auth set`, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The models to list, the default model first. Absent: those that zot or the server knows.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelConfig>,
}

/// The API of a model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum ProviderApi {
    /// Chat Completions, the API that most servers support.
    Openai,
    /// The Responses API.
    OpenaiResponses,
    /// Anthropic's Messages API.
    Anthropic,
}

/// A model of a provider: its id, or an object with its properties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ModelConfig {
    /// The provider's id for the model.
    Id(String),
    /// An object with the `id` and the fields of an entry in `models.json`: `context_window`,
    /// `max_output`, `reasoning`, `prices` and so on.
    Properties(Object),
}

/// The user's settings for one extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ExtensionConfig {
    /// What happens to an intercepted event when the extension fails, by event name. A setting here
    /// can make the manifest's policy stricter, but not more lenient. Absent: the manifest's
    /// policy.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, OnFailure>")]
    pub on_failure: BTreeMap<InterceptName, OnFailure>,
    /// How the extension's answers about intercepted events are used, by event name. Absent: all are
    /// applied.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, InterceptConfig>")]
    pub intercept: BTreeMap<InterceptName, InterceptConfig>,
}

impl ExtensionConfig {
    /// Returns the events that the extension intercepts in audit mode.
    pub fn audited(&self) -> impl Iterator<Item = &InterceptName> {
        let audited = |config: &InterceptConfig| config.mode == InterceptMode::Audit;
        let events = self.intercept.iter();
        events.filter_map(move |(event, config)| audited(config).then_some(event))
    }
}

/// The user's settings for one event that an extension intercepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct InterceptConfig {
    /// How the extension's answers are used. Absent: `enforce`.
    #[serde(default, deserialize_with = "or_default")]
    pub mode: InterceptMode,
}

impl InterceptConfig {
    /// Creates settings with this mode.
    pub fn new(mode: InterceptMode) -> Self {
        Self { mode }
    }
}

/// How the answers of an interceptor are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum InterceptMode {
    /// They are applied.
    #[default]
    Enforce,
    /// They are recorded, and not applied, even if the extension fails.
    Audit,
}

/// What the record of interceptors' decisions contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum DecisionDetail {
    /// What was decided, by whom, when and why.
    #[default]
    Summary,
    /// Also the arguments and texts that the decisions were about.
    Full,
}

/// The user's decision about one project-local extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_new::new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Trust {
    /// The digest of the extension's directory at the time of the decision. If the digest changes,
    /// the user is asked again.
    #[new(into)]
    pub digest: String,
    /// Whether the extension can be started.
    pub allowed: bool,
}
