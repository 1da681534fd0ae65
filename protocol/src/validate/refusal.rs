//! Why a line was rejected.

use std::fmt;

use serde_json::Value;

use super::{plain::plain, scan::scan};
use crate::{FrameError, Id, Object};

/// Maximum length of a name or pointer in a message, in characters.
const SHOWN_CHARS: usize = 120;
/// Maximum length of a reason, in characters.
const REASON_CHARS: usize = 300;
/// Maximum size of a name, pointer or ID that is sent back. Longer ones are omitted.
const SENT_BYTES: usize = 1024;

/// The error for a line that is not a frame, or a frame that its schema rejects.
///
/// It displays as one line: `tool_result: /content/0/type: "txt" is not one of "text", "image"`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Refusal {
    /// The category of the error.
    pub kind: RefusalKind,
    /// The frame's type, if it could be read.
    pub frame_type: Option<String>,
    /// The frame's `id`, if it could be read. The request with this ID can then fail immediately.
    pub id: Option<Id>,
    /// The invalid location, as a JSON pointer; `""` is the whole line.
    pub pointer: String,
    /// What is wrong, on one line and without control characters.
    pub reason: String,
    /// Whether the line may be a reply to an interception and has `block: true`. It then still
    /// blocks the event, even though it is invalid.
    pub says_block: bool,
}

/// The category of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The line is not JSON.
    NotJson,
    /// The line is JSON that is not accepted: it is ambiguous, nested too deeply, or has too many
    /// values.
    Malformed,
    /// The line is JSON, but not a valid frame of its type.
    Invalid,
}

impl Refusal {
    pub(super) fn new(
        kind: RefusalKind,
        pointer: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            frame_type: None,
            id: None,
            pointer: pointer.into(),
            reason: reason.into(),
            says_block: false,
        }
    }

    pub(super) fn invalid(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, pointer, reason)
    }

    /// Creates the refusal for a value that matches its schema but cannot be decoded into its type.
    pub(super) fn undecodable(error: &serde_json::Error) -> Self {
        Self::invalid("", plain(&error.to_string(), REASON_CHARS))
    }

    /// Adds the type, ID and `block` of the rejected object.
    pub(super) fn of(mut self, object: &Object) -> Self {
        self.frame_type = object
            .get("type")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.id = object.get("id").and_then(Value::as_str).map(Id::from);
        self.says_block =
            object.get("block") == Some(&Value::Bool(true)) && self.may_be_intercept_response();
        self
    }

    /// Adds the type, ID and `block` of a line that could not be parsed.
    pub(super) fn scanned(mut self, line: &[u8]) -> Self {
        let scan = scan(line);
        self.frame_type = scan.frame_type;
        self.id = scan.id.map(Into::into);
        self.says_block = scan.says_block && self.may_be_intercept_response();
        self
    }

    /// Returns whether this could be a reply to an interception. In frames of other types, `block`
    /// means something else. A frame without a type could be such a reply.
    pub(super) fn may_be_intercept_response(&self) -> bool {
        self.frame_type
            .as_deref()
            .is_none_or(|name| name == "event_intercept_response")
    }

    /// Returns the `error` frame that reports this refusal to the extension.
    pub fn to_frame(&self) -> FrameError {
        let fits = |text: &&str| text.len() <= SENT_BYTES;
        let mut frame = FrameError::new(self.to_string());
        frame.frame_type = self.frame_type.as_deref().filter(fits).map(str::to_owned);
        frame.id = self.id.as_ref().map(Id::as_str).filter(fits).map(Id::from);
        let has_place = self.kind == RefusalKind::Invalid || !self.pointer.is_empty();
        frame.pointer = has_place
            .then_some(self.pointer.as_str())
            .filter(fits)
            .map(str::to_owned);
        frame
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frame_type) = &self.frame_type {
            write!(formatter, "{}: ", plain(frame_type, SHOWN_CHARS))?;
        }
        write_with_pointer(formatter, &self.pointer, &self.reason)
    }
}

/// Writes `/content/0: reason`, or only the reason if it concerns the whole value.
pub(super) fn write_with_pointer(
    formatter: &mut fmt::Formatter<'_>,
    pointer: &str,
    reason: &str,
) -> fmt::Result {
    if !pointer.is_empty() {
        write!(formatter, "{}: ", plain(pointer, SHOWN_CHARS))?;
    }
    formatter.write_str(reason)
}
