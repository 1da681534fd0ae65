//! The reply that a request from the host expects.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::limits;

use crate::{surface::text, target::Target};

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The type of the reply.
    pub(crate) kind: &'static str,
    /// A description: `` `tool_result` for a call to `weather` ``.
    pub(crate) words: String,
}

impl Reply {
    /// The reply that a frame expects; `None` for events and other one-way frames.
    pub(crate) fn to(frame: &Value) -> Option<Self> {
        let (kind, words) = match text(frame, "type") {
            "tool_call" => {
                let name = text(frame, "name");
                (
                    "tool_result",
                    format!("`tool_result` for a call to `{name}`"),
                )
            }
            "command_invoked" => {
                let name = text(frame, "name");
                (
                    "command_response",
                    format!("`command_response` to `/{name}`"),
                )
            }
            "event_intercept" => {
                let event = text(frame, "event");
                let words = format!("`event_intercept_response` for `{event}`");
                ("event_intercept_response", words)
            }
            _ => return None,
        };
        Some(Self { kind, words })
    }

    /// How long a host waits for it.
    pub(crate) fn limit(&self, target: &Target) -> Duration {
        match self.kind {
            "tool_result" => target.tool_limit(),
            "event_intercept_response" => target.intercept_limit(),
            _ => limits::COMMAND,
        }
    }
}
