//! The reply that a request from the host expects.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::limits;

use crate::{session::ReceivedLine, surface::text, target::Target};

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

    /// Whether a line is the reply to the request with this id.
    pub(crate) fn is(&self, line: &ReceivedLine, id: &str) -> bool {
        line.is(self.kind) && line.id() == Some(id)
    }

    /// Whether the manifest sets the timeout for this reply.
    pub(crate) fn is_declared(&self, target: &Target) -> bool {
        let timeouts = target.manifest.as_ref().and_then(|it| it.timeouts.as_ref());
        self.kind == "tool_result" && timeouts.is_some_and(|it| it.tool_ms.is_some())
    }

    /// Whether a host waits only a few seconds for it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.kind == "event_intercept_response"
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
