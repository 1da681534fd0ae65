//! One line from the extension.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::{
    FromExtension,
    validate::{self, Hint, Refusal},
};

use super::{cut, pipes::RawLine};

/// A line of the extension's standard output.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedLine {
    /// The time since the process was started.
    pub(crate) at: Duration,
    /// The frame, or why it is invalid.
    pub(crate) frame: Result<FromExtension, Refusal>,
    /// The line as JSON; null if it is not JSON.
    pub(crate) value: Value,
    /// The text, truncated if it is long.
    pub(crate) shown: String,
    /// The length in bytes.
    pub(crate) bytes: usize,
    /// Likely mistakes, such as a misspelt field.
    pub(crate) hints: Vec<Hint>,
    kind: LineKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Text,
    NotUtf8,
    TooLong,
    Blank,
}

impl ReceivedLine {
    pub(super) fn new(at: Duration, line: RawLine) -> Self {
        let (bytes, length, too_long) = match line {
            RawLine::Whole(bytes) => {
                let length = bytes.len();
                (bytes, length, false)
            }
            RawLine::TooLong { start, length } => (start, length, true),
        };
        let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
        let text = unmarked.unwrap_or(&bytes).trim_ascii_end();
        let kind = match std::str::from_utf8(text) {
            _ if too_long => LineKind::TooLong,
            _ if text.is_empty() => LineKind::Blank,
            Err(_) => LineKind::NotUtf8,
            Ok(_) => LineKind::Text,
        };
        let value = serde_json::from_slice(text).unwrap_or(Value::Null);
        let mut hints = validate::frame_hints::<FromExtension>(&value);
        hints.extend(unmarked.map(|_| Hint::ByteOrderMark));
        Self {
            at,
            frame: validate::frame(text),
            value,
            hints,
            shown: cut(&String::from_utf8_lossy(text)).to_owned(),
            bytes: length,
            kind,
        }
    }

    /// Reports whether the frame's `type` is `kind`, even if the frame is invalid.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.value.get("type").and_then(Value::as_str) == Some(kind)
    }

    /// Its `id`, if it has one.
    pub(crate) fn id(&self) -> Option<&str> {
        self.value.get("id").and_then(Value::as_str)
    }

    /// The hint that the line completes a frame spread over several lines, and the type of that
    /// frame.
    pub(crate) fn spread(&self) -> Option<(&Hint, &str)> {
        self.hints.iter().find_map(|hint| match hint {
            Hint::SpreadOverLines { frame_type, .. } => Some((hint, frame_type.as_deref()?)),
            _ => None,
        })
    }

    /// Returns the frame's type, and `image` or `panel` if it contains one, because some rules
    /// apply only to images or panels.
    pub(super) fn contents(&self) -> Vec<String> {
        let Some(kind) = self.value.get("type").and_then(Value::as_str) else {
            return Vec::new();
        };
        let mut contents = vec![kind.to_owned()];
        let blocks = self.value.get("content").and_then(Value::as_array);
        if blocks.is_some_and(|blocks| blocks.iter().any(|it| it["type"] == "image")) {
            contents.push("image".to_owned());
        }
        if kind == "command_response" && self.value.get("open_panel").is_some() {
            contents.push("panel".to_owned());
        }
        contents
    }

    /// Reports whether it exceeds the maximum length of a frame.
    pub(crate) fn is_too_long(&self) -> bool {
        self.kind == LineKind::TooLong
    }

    /// Reports whether it is UTF-8 text of valid length and not blank.
    pub(crate) fn is_text(&self) -> bool {
        self.kind == LineKind::Text
    }

    /// Reports whether it contains invalid UTF-8.
    pub(crate) fn is_not_utf8(&self) -> bool {
        self.kind == LineKind::NotUtf8
    }

    /// Reports whether it is blank, which a host tolerates.
    pub(crate) fn is_blank(&self) -> bool {
        self.kind == LineKind::Blank
    }
}
