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
    /// Whether the result is an error.
    pub is_error: bool,
    /// The structured result, if the tool returned one and no interceptor replaced its content.
    pub structured_content: Option<Value>,
    /// Whether `content` was truncated to its limit.
    pub truncated: bool,
    /// The extension that owns the tool. `None` for a built-in or unknown tool.
    pub extension: Option<String>,
}

impl ToolOutcome {
    pub(crate) fn new(status: ToolStatus, content: Vec<Content>) -> Self {
        Self {
            is_error: status != ToolStatus::Completed,
            status,
            content,
            structured_content: None,
            truncated: false,
            extension: None,
        }
    }

    /// Creates a failure with this message for the model.
    pub fn error(status: ToolStatus, why: impl Into<String>) -> Self {
        Self::new(status, vec![Content::text(why)])
    }

    pub(crate) fn cancelled() -> Self {
        Self::error(ToolStatus::Cancelled, "cancelled")
    }
}

impl From<ToolResult> for ToolOutcome {
    fn from(result: ToolResult) -> Self {
        let status = if result.is_error {
            ToolStatus::Failed
        } else {
            ToolStatus::Completed
        };
        Self {
            structured_content: result.structured_content,
            ..Self::new(status, result.content)
        }
    }
}

impl From<HostError> for ToolOutcome {
    fn from(error: HostError) -> Self {
        let status = match &error {
            HostError::Extension {
                error: RequestError::Timeout(_),
                ..
            } => ToolStatus::TimedOut,
            HostError::Declined(_)
            | HostError::Forbidden { .. }
            | HostError::Unconfirmed { .. } => ToolStatus::Blocked,
            _ => ToolStatus::Failed,
        };
        Self::error(status, error.to_string())
    }
}
