//! `extension.json`: how to start an extension and what it can access.

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
    /// The location of this schema, for editors. The host ignores it.
    #[new(default)]
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The unique name of the extension: 1 to 64 letters, digits, `.`, `_` and `-`, starting with a
    /// letter or digit.
    #[new(into)]
    #[schemars(regex(pattern = pattern::EXTENSION_NAME))]
    pub name: String,
    /// The extension's own version, in any format, shown in `zot ext list`. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The program to run. An absolute path is used unchanged. A path with a separator (`./x`,
    /// `bin/x`) is relative to the manifest's directory. A bare name (`node`) is looked up on
    /// `PATH`, then in the manifest's directory.
    #[new(into)]
    #[schemars(length(min = 1))]
    pub exec: String,
    /// Arguments for the program. Absent: none.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The programming language of the extension. Informational. Absent: unknown.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// A one-line description for `zot ext list`. Absent: none.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether to start the extension. A disabled extension still shadows others with the same
    /// name. Absent: true.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Timeouts that differ from the defaults. Absent: the defaults.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// What happens to an intercepted event when this extension fails, by event name. With the
    /// policy `block`, the event is guarded from the time the extension starts until it shuts down.
    /// Absent: `allow` for every event.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "InterceptPolicies::is_empty")]
    pub intercept: InterceptPolicies,
    /// What the extension can access. Everything that is not granted is denied. Absent: everything
    /// the user can access.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

impl Manifest {
    /// Returns whether the extension should be started.
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

/// Timeouts in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Timeouts {
    /// Timeout from the start to `hello`. Absent: 30,000.
    #[serde(default, deserialize_with = "optional_integer")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = limits::HELLO_MS.0, max = limits::HELLO_MS.1))]
    pub hello_ms: Option<u32>,
    /// Timeout from a `tool_call`, or its last `tool_progress`, to the `tool_result`. Absent:
    /// 60,000.
    #[serde(default, deserialize_with = "optional_integer")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = limits::TOOL_MS.0, max = limits::TOOL_MS.1))]
    pub tool_ms: Option<u32>,
    /// Timeout from an `event_intercept` to its response. Absent: 5,000.
    #[serde(default, deserialize_with = "optional_integer")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = limits::INTERCEPT_MS.0, max = limits::INTERCEPT_MS.1))]
    pub intercept_ms: Option<u32>,
}

/// What happens to an intercepted event when the extension fails, by event name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterceptPolicies(pub BTreeMap<InterceptName, InterceptPolicy>);

impl InterceptPolicies {
    /// Returns whether no event has a policy.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what happens to `event` if the extension fails.
    pub fn on_failure(&self, event: &InterceptName) -> OnFailure {
        self.0
            .get(event)
            .map(|policy| policy.on_failure)
            .unwrap_or_default()
    }

    /// Returns whether the extension makes the final check of `event`.
    pub fn is_final(&self, event: &InterceptName) -> bool {
        self.0.get(event).is_some_and(|policy| policy.is_final)
    }
}

/// The failure policy for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct InterceptPolicy {
    /// What happens to the intercepted event if the extension fails. Absent: `allow`.
    #[serde(default, deserialize_with = "or_default")]
    pub on_failure: OnFailure,
    /// Whether the extension is asked again after the whole chain if other interceptors changed the
    /// event. It can then only allow or block. Absent: false.
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(rename = "final", skip_serializing_if = "is_false")]
    pub is_final: bool,
}

impl JsonSchema for InterceptPolicies {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InterceptPolicies".into()
    }

    // Lists the known events so that editors can complete them. Unknown events are valid too.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut policy = InterceptPolicy::json_schema(generator);
        policy.insert("title".into(), InterceptPolicy::schema_name().into());
        let properties: Object = InterceptName::KNOWN
            .iter()
            .map(|event| {
                let about = format!("The policy for `{event}`.");
                let policy = serde_json::json!({ "description": about, "allOf": [policy] });
                (event.to_string(), policy)
            })
            .collect();
        schemars::json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": policy,
        })
    }
}
