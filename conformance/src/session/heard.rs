//! One line from the extension.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::{
    FromExtension,
    validate::{self, Refusal},
};

use super::{cut, pipes::Line};

/// A line of the extension's standard output.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The time since the process was started.
    pub at: Duration,
    /// The frame, or why it is none.
    pub frame: Result<FromExtension, Refusal>,
    /// As JSON, where it is JSON; null otherwise.
    value: Value,
    shown: String,
    bytes: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    NotUtf8,
    TooLong,
    Blank,
}

impl Heard {
    pub(super) fn new(at: Duration, line: Line) -> Self {
        let (bytes, length, too_long) = match line {
            Line::Whole(bytes) => {
                let length = bytes.len();
                (bytes, length, false)
            }
            Line::TooLong { start, length } => (start, length, true),
        };
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let text = text.trim_ascii_end();
        let kind = match std::str::from_utf8(text) {
            _ if too_long => Kind::TooLong,
            _ if text.is_empty() => Kind::Blank,
            Err(_) => Kind::NotUtf8,
            Ok(_) => Kind::Text,
        };
        Self {
            at,
            frame: validate::frame(text),
            value: serde_json::from_slice(text).unwrap_or(Value::Null),
            shown: cut(&String::from_utf8_lossy(text)).to_owned(),
            bytes: length,
            kind,
        }
    }

    /// Whether it says it is a frame of this type, valid or not.
    pub fn is(&self, kind: &str) -> bool {
        self.value.get("type").and_then(Value::as_str) == Some(kind)
    }

    /// Its `id`, if it has one.
    pub fn id(&self) -> Option<&str> {
        self.value.get("id").and_then(Value::as_str)
    }

    /// Its type, and what it holds that rules are about: an image, a panel.
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

    /// As JSON; null where it is not.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Its text, cut if it is long.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it is longer than a frame may be.
    pub fn is_too_long(&self) -> bool {
        self.kind == Kind::TooLong
    }

    /// Whether it is a line of UTF-8 text that fits a frame.
    pub fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    /// Whether it has bytes that are not UTF-8.
    pub fn is_not_utf8(&self) -> bool {
        self.kind == Kind::NotUtf8
    }

    /// Whether there is nothing on it, which a host tolerates.
    pub fn is_blank(&self) -> bool {
        self.kind == Kind::Blank
    }
}
