//! The rules that decide which tool calls need the user's confirmation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Object;

/// A rule about tool calls. It applies to a call that matches all of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, derive_new::new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ApprovalRule {
    /// The tool. `*` stands for any text.
    #[new(into)]
    pub tool: String,
    /// The argument `command` of the call, such as the command of `bash`. `*` stands for any text,
    /// and a final ` *` also for no text: `git *` matches `git`. With a `*`, an `allow` rule
    /// matches only a single command without shell operators or expansions, such as `;`, `|`, `>`
    /// or `$`. `ask` and `deny` rules also match each part of a longer command. Absent: any
    /// arguments.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The complete arguments of the call. Absent: any arguments.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Object>,
    /// Who makes the call: `model`, or `extension:` and the name of the extension. `*` stands for
    /// any text. Absent: any caller.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What happens to the call.
    #[serde(rename = "do")]
    pub action: ApprovalAction,
}

/// What an [`ApprovalRule`] does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum ApprovalAction {
    /// The call runs without confirmation.
    Allow,
    /// zot asks the user. If it cannot ask, the call is refused.
    Ask,
    /// The call is refused.
    Deny,
}

impl ApprovalRule {
    /// Limits the rule to calls with this `command`; see [`command`](Self::command).
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Limits the rule to calls with exactly these arguments.
    #[must_use]
    pub fn with_args(mut self, args: Object) -> Self {
        self.args = Some(args);
        self
    }

    /// Limits the rule to one caller; see [`caller`](Self::caller).
    #[must_use]
    pub fn by(mut self, caller: impl Into<String>) -> Self {
        self.caller = Some(caller.into());
        self
    }
}

impl std::fmt::Display for ApprovalRule {
    /// Writes the rule as one line of JSON.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}
