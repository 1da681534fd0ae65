//! Why a line was refused.

use std::fmt;

use serde_json::Value;

use crate::{FrameError, Id};

/// A line that is no frame, or a frame that its schema refuses.
///
/// Displayed, it is one line: `tool_result: /content/0/type: "txt" is not one of "text", "image"`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Refusal {
    /// What is wrong with it in general.
    pub kind: RefusalKind,
    /// The frame's type, where it could be read.
    pub frame_type: Option<String>,
    /// The frame's `id`, where it could be read: whoever waits for it need not wait any longer.
    pub id: Option<Id>,
    /// Where, as a JSON pointer; `""` is the whole line.
    pub pointer: String,
    /// Why, in one line.
    pub reason: String,
    /// Whether the frame says `block: true`. A response to an interception that does still blocks, however malformed
    /// it is otherwise.
    pub says_block: bool,
}

/// What is wrong with a line in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It is not JSON, or JSON that two readers could understand differently.
    NotJson,
    /// It is JSON, but not the frame that it says it is.
    Invalid,
}

impl Refusal {
    pub(crate) fn invalid(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Invalid,
            frame_type: None,
            id: None,
            pointer: pointer.into(),
            reason: reason.into(),
            says_block: false,
        }
    }

    pub(crate) fn id_of(frame: &Value) -> Option<Id> {
        frame.get("id").and_then(Value::as_str).map(Id::from)
    }

    /// As the frame that tells the extension of it.
    pub fn to_frame(&self) -> FrameError {
        let mut frame = FrameError::new(self.to_string());
        frame.frame_type.clone_from(&self.frame_type);
        frame.id.clone_from(&self.id);
        frame.pointer = (self.kind == RefusalKind::Invalid).then(|| self.pointer.clone());
        frame
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frame_type) = &self.frame_type {
            // The name is the sender's: it must not bring a line break or a control sequence into a log.
            write!(formatter, "{}: ", frame_type.escape_debug())?;
        }
        if !self.pointer.is_empty() {
            write!(formatter, "{}: ", self.pointer.escape_debug())?;
        }
        formatter.write_str(&self.reason)
    }
}
