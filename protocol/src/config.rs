//! `$ZOT_HOME/config.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InterceptName, OnFailure, absent::or_default};

/// The user's configuration. Everything is optional; flags win over it, and it wins over defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{
    "provider": "anthropic", "model": "claude-opus-4-5", "reasoning": "medium", "theme": "dark",
    "extensions": {"guard": {"on_failure": {"tool_call": "block"}}}
}]))]
#[non_exhaustive]
pub struct Config {
    /// For editors: where this schema is. The program ignores it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The model provider: `anthropic`, `openai`, `ollama`, `demo`. Absent: the one with credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, by the provider's name for it. Absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much the model thinks before it answers. Absent: the model's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The colours of the interactive mode. Absent: by the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// Settings by extension name. Absent: none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "Option<BTreeMap<String, ExtensionConfig>>")]
    pub extensions: BTreeMap<String, ExtensionConfig>,
    /// Written by the program: the answers about project-local extensions, by their directory. Absent: none yet.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "Option<BTreeMap<String, Trust>>")]
    pub trusted: BTreeMap<String, Trust>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Reasoning {
    /// Not at all, where the model can do without.
    Off,
    /// A little.
    Low,
    /// A fair amount.
    Medium,
    /// As much as it can.
    High,
}

/// The user's settings for one extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ExtensionConfig {
    /// What a failure of the extension means, by the event it intercepts. It can tighten what the manifest says, never
    /// loosen it. Absent: what the manifest says.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "Option<BTreeMap<String, OnFailure>>")]
    pub on_failure: BTreeMap<InterceptName, OnFailure>,
}

/// The user's answer about one project-local extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_new::new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Trust {
    /// The digest of its directory when the question was asked. Another one, and it is asked again.
    #[new(into)]
    pub digest: String,
    /// Whether it may be started.
    pub allowed: bool,
}
