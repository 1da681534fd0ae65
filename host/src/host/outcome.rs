//! The outcome of a tool call.

use serde_json::Value;
use zot_protocol::{Content, ToolResult, ToolStatus};

use super::HostError;
use crate::extension::RequestError;

/// The outcome of a tool call, after interception.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model sees.
    pub content: Vec<Content>,
    /// Whether it is an error.
    pub is_error: bool,
    /// The structured result, if the tool returned one and no interceptor replaced its content.
    pub structured_content: Option<Value>,
    /// Whether `content` was truncated to its limit.
    pub truncated: bool,
    /// The extension that owns the tool. `None` for a built-in or unknown tool.
    pub extension: Option<String>,
}

impl ToolOutcome {
    /// A failure, with the message for the model.
    pub fn error(status: ToolStatus, why: impl Into<String>) -> Self {
        Self {
            status,
            content: vec![Content::text(why)],
            is_error: true,
            structured_content: None,
            truncated: false,
            extension: None,
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::error(ToolStatus::Cancelled, "cancelled")
    }
}

impl From<ToolResult> for ToolOutcome {
    fn from(result: ToolResult) -> Self {
        Self {
            status: if result.is_error {
                ToolStatus::Failed
            } else {
                ToolStatus::Completed
            },
            content: result.content,
            is_error: result.is_error,
            structured_content: result.structured_content,
            truncated: false,
            extension: None,
        }
    }
}

impl From<HostError> for ToolOutcome {
    fn from(error: HostError) -> Self {
        Self::error(status_of(&error), error.to_string())
    }
}

fn status_of(error: &HostError) -> ToolStatus {
    match error {
        HostError::Extension {
            error: RequestError::Timeout(_),
            ..
        } => ToolStatus::TimedOut,
        HostError::Declined(_) => ToolStatus::Blocked,
        _ => ToolStatus::Failed,
    }
}
