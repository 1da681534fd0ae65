//! Why a line was refused.

use std::fmt;

use serde_json::Value;

use super::{plain::plain, scan::scan};
use crate::{FrameError, Id, Object};

/// In a message, names and places are cut after so many characters.
const SHOWN_CHARS: usize = 120;
/// A longer name, place or id is not sent back: it is nothing that the host has given out.
const SENT_BYTES: usize = 1024;

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
    /// Why, in one line without control characters.
    pub reason: String,
    /// Whether it is an answer to an interception that says `block: true`. It still blocks, however malformed it is
    /// otherwise.
    pub says_block: bool,
}

/// What is wrong with a line in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It is not JSON.
    NotJson,
    /// It is JSON that is not read: two readers could understand it differently, it nests too deep, or it has too many values.
    Malformed,
    /// It is JSON, but not the frame that it says it is.
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

    /// With all that the refused object tells of itself.
    pub(super) fn of(mut self, object: &Object) -> Self {
        self.frame_type = object
            .get("type")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.id = object.get("id").and_then(Value::as_str).map(Id::from);
        self.says_block =
            object.get("block") == Some(&Value::Bool(true)) && self.may_answer_an_interception();
        self
    }

    /// With all that a line tells which was not parsed.
    pub(super) fn scanned(mut self, line: &[u8]) -> Self {
        let scan = scan(line);
        self.frame_type = scan.frame_type;
        self.id = scan.id.map(Into::into);
        self.says_block = scan.says_block && self.may_answer_an_interception();
        self
    }

    /// A frame of another type that says `block` means something else by it; one of no type may be the answer.
    pub(super) fn may_answer_an_interception(&self) -> bool {
        self.frame_type
            .as_deref()
            .is_none_or(|name| name == "event_intercept_response")
    }

    /// As the frame that tells the extension of it.
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
        write_place(formatter, &self.pointer, &self.reason)
    }
}

/// `/content/0: why`, or why alone where it is about the whole.
pub(super) fn write_place(
    formatter: &mut fmt::Formatter<'_>,
    pointer: &str,
    reason: &str,
) -> fmt::Result {
    if !pointer.is_empty() {
        write!(formatter, "{}: ", plain(pointer, SHOWN_CHARS))?;
    }
    formatter.write_str(reason)
}
