//! `$ZOT_HOME/config.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InterceptName, OnFailure, absent::or_default};

/// The user's configuration. All fields are optional. Command-line flags override it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{
    "provider": "anthropic", "model": "claude-opus-4-5", "reasoning": "medium", "theme": "dark",
    "confirm": true, "jail": true,
    "extensions": {"guard": {"on_failure": {"tool_call": "block"}}}
}]))]
#[non_exhaustive]
pub struct Config {
    /// The location of this schema, for editors. zot ignores it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The model provider: `anthropic`, `openai`, `ollama` or `demo`. Absent: the provider that has
    /// credentials.
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
    /// Whether zot asks before each tool call, as with `--no-yolo`. Only interactive mode can ask;
    /// the other modes refuse to start unless `--yolo` is passed. Absent: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
    /// Whether the built-in tools are restricted to the working directory, as with `--jail`. Absent:
    /// false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jail: Option<bool>,
    /// Settings by extension name. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, ExtensionConfig>,
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
