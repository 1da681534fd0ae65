//! `extension.json`: how an extension is started and what it asks for.

use std::collections::BTreeMap;

use derive_new::new;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::integer::optional_integer;
use crate::{
    InterceptName, Object, OnFailure, Permissions,
    absent::{is_false, or_default},
    limits, pattern,
};

/// The manifest of an extension, `extension.json` in its directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(extend("examples" = [
    {
        "name": "weather", "version": "1.0.0", "exec": "./weather", "args": ["--mode", "daemon"],
        "language": "go", "description": "current weather for any city", "enabled": true
    },
    {
        "name": "guard", "exec": "python3", "args": ["guard.py"],
        "timeouts": {"intercept_ms": 2000},
        "intercept": {"tool_call": {"on_failure": "block", "final": true}},
        "permissions": {
            "fs": {"read": ["$cwd"], "write": ["$data"]}, "net": [443], "env": ["GUARD_RULES"],
            "tools": ["read"], "intercept": ["tool_call"], "submit": true
        }
    }
]))]
#[non_exhaustive]
pub struct Manifest {
    /// For editors: where this schema is. The host ignores it.
    #[new(default)]
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Identifies the extension everywhere: 1 to 64 letters, digits, `.`, `_`, `-`, the first a letter or digit.
    #[new(into)]
    #[schemars(regex(pattern = pattern::EXTENSION_NAME))]
    pub name: String,
    /// The extension's own version, in any form; shown in `zot ext list`. Absent: none is shown.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The program. Absolute: as it is. With a separator (`./x`, `bin/x`): relative to the manifest's directory. Bare
    /// (`node`): looked up on `PATH`, then in the manifest's directory.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub exec: String,
    /// Arguments for the program. Absent: none.
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub args: Vec<String>,
    /// What it is written in; for people only. Absent: not told.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// One line for `zot ext list`. Absent: none is shown.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is started. A disabled one still shadows others of its name. Absent: true.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Deadlines other than the defaults. Absent: the defaults.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// What a failure of this extension means, by the event it intercepts. An event named with `block` is
    /// guarded from the start of the extension to its shutdown. Absent: `allow` for every event.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "InterceptPolicies::is_empty"
    )]
    #[schemars(with = "Option<InterceptPolicies>")]
    pub intercept: InterceptPolicies,
    /// What it may touch; whatever is not granted is denied. Absent: the user's full rights.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

impl Manifest {
    /// Whether it is started.
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

/// Deadlines in milliseconds, each within its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start to `hello`. Absent: 30,000.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = limits::HELLO_MS.0, max = limits::HELLO_MS.1))]
    pub hello_ms: Option<u32>,
    /// From a `tool_call`, or its last `tool_progress`, to the `tool_result`. Absent: 60,000.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = limits::TOOL_MS.0, max = limits::TOOL_MS.1))]
    pub tool_ms: Option<u32>,
    /// From an `event_intercept` to its response. Absent: 5,000.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = limits::INTERCEPT_MS.0, max = limits::INTERCEPT_MS.1))]
    pub intercept_ms: Option<u32>,
}

/// What a failure means, by event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterceptPolicies(pub BTreeMap<InterceptName, InterceptPolicy>);

impl InterceptPolicies {
    /// Whether no event is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The policy for `event`.
    pub fn on_failure(&self, event: &InterceptName) -> OnFailure {
        self.0
            .get(event)
            .map(|policy| policy.on_failure)
            .unwrap_or_default()
    }

    /// Whether the extension has the last word on `event`.
    pub fn is_final(&self, event: &InterceptName) -> bool {
        self.0.get(event).is_some_and(|policy| policy.is_final)
    }
}

/// What a failure means for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct InterceptPolicy {
    /// What happens to what it would have been asked about. Absent: `allow`.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<OnFailure>")]
    pub on_failure: OnFailure,
    /// Whether it is asked again, after the whole chain, when the event is no longer what it left behind. It can only
    /// allow or block then. Absent: false.
    #[new(default)]
    #[serde(
        default,
        rename = "final",
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub is_final: bool,
}

impl JsonSchema for InterceptPolicies {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InterceptPolicies".into()
    }

    // The known events are listed, so that an editor offers them; others are tolerated, as everywhere.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let policy = InterceptPolicy::json_schema(generator);
        let properties: Object = InterceptName::KNOWN
            .iter()
            .map(|event| {
                let mut policy = policy.clone();
                policy.insert(
                    "description".into(),
                    format!("When `{event}` is intercepted.").into(),
                );
                (event.to_string(), policy.to_value())
            })
            .collect();
        schemars::json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": policy,
        })
    }
}
