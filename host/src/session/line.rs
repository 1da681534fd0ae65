//! One line of a session's file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zot_protocol::{Object, ToolStatus};

use crate::message::{Block, Message};

/// The version of the format that this program writes.
pub(super) const VERSION: u32 = 1;

/// So many levels a call's arguments may nest below their names.
const MOST_DEEP: usize = 100;

/// The first line: what session this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The version of the format.
    pub version: u32,
    /// The session's name among all.
    pub id: String,
    /// The directory it is about.
    pub cwd: String,
    /// When it was begun, as RFC 3339.
    pub created: String,
    /// The provider at its start.
    pub provider: String,
    /// The model at its start, by the provider's name for it.
    pub model: String,
    /// The session it was made from; absent where it was begun by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// The session that another was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parent {
    /// Its `id`.
    pub id: String,
    /// How many of its messages were taken over.
    pub messages: u64,
}

/// A tool that an extension had run. No model sees it; it is there for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExtensionCall {
    /// The extension that made the call.
    pub extension: String,
    /// The tool.
    pub tool: String,
    /// The arguments, as the interceptors left them. Absent: they were too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Object>,
    /// How it ended.
    pub status: ToolStatus,
    /// When, as RFC 3339.
    pub time: String,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum Line {
    Head(Head),
    /// A head in a version that this program does not know.
    NewerHead(u32),
    Message(Message),
    /// The transcript has become this one message.
    Compaction(Message),
    /// The transcript is empty.
    Clear,
    Model {
        provider: String,
        model: String,
    },
    Title(String),
    ExtensionCall(ExtensionCall),
    /// A line of a newer version.
    Unknown,
}

/// A line as it is written. `n` is last, where a listing finds it without reading the line: how many messages there are
/// up to here.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Out<'a> {
    Session(&'a Head),
    Message {
        message: &'a Message,
        n: u64,
    },
    Compaction {
        message: &'a Message,
        n: u64,
    },
    Clear {
        n: u64,
    },
    Model {
        provider: &'a str,
        model: &'a str,
        time: &'a str,
        n: u64,
    },
    Title {
        title: &'a str,
        n: u64,
    },
    ExtensionCall {
        call: &'a ExtensionCall,
        n: u64,
    },
}

impl Out<'_> {
    /// Adds the line, with its newline.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let before = to.len();
        // Strings, numbers and maps with strings for keys: the one way to fail is a bug in `serde_json`, and it must
        // not leave half a line.
        if serde_json::to_writer(&mut *to, self).is_ok() {
            to.push(b'\n');
        } else {
            to.truncate(before);
        }
    }
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    tag: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct WithMessage {
    message: Message,
}

#[derive(Deserialize)]
struct Model {
    provider: String,
    model: String,
}

#[derive(Deserialize)]
struct Title {
    title: String,
}

#[derive(Deserialize)]
struct WithCall {
    call: ExtensionCall,
}

/// Reads a line; `None` where it is no line of any version: not an object of JSON with a `type`. A known type with
/// something in it that this version does not know (a new kind of block) is a line of a newer version.
pub(super) fn parse(line: &[u8]) -> Option<Line> {
    fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
        serde_json::from_slice(line).ok()
    }
    let Tag { tag } = read(line)?;
    let known = match &*tag {
        "session" => match read::<Version>(line) {
            Some(head) if head.version > VERSION => Some(Line::NewerHead(head.version)),
            _ => read(line).map(Line::Head),
        },
        "message" => read(line).map(|WithMessage { message }| Line::Message(message)),
        "compaction" => read(line).map(|WithMessage { message }| Line::Compaction(message)),
        "clear" => Some(Line::Clear),
        "model" => read(line).map(|Model { provider, model }| Line::Model { provider, model }),
        "title" => read(line).map(|Title { title }| Line::Title(title)),
        "extension_call" => read(line).map(|WithCall { call }| Line::ExtensionCall(call)),
        _ => None,
    };
    Some(known.unwrap_or(Line::Unknown))
}

/// The message as it can be read again: a line nests a few levels deeper than the arguments of a call in it, and what
/// reads it gives up at 128. Arguments that deep are kept as the text they are.
pub(super) fn storable(message: &Message) -> Cow<'_, Message> {
    let is_deep = |block: &Block| match block {
        Block::ToolCall { args, .. } => args.values().any(|value| !is_within(value, MOST_DEEP)),
        _ => false,
    };
    if !message.content.iter().any(is_deep) {
        return Cow::Borrowed(message);
    }
    let mut message = message.clone();
    for block in &mut message.content {
        if is_deep(block)
            && let Block::ToolCall { args, .. } = block
        {
            let text = Value::Object(std::mem::take(args)).to_string();
            args.insert("json".to_owned(), Value::String(text));
        }
    }
    Cow::Owned(message)
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|item| is_within(item, levels - 1))
        }
        _ => true,
    }
}

/// How many messages there are up to this line, as its end says.
pub(super) fn count_at_end(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_end().strip_suffix(b"}")?;
    let digits = line
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (before, digits) = line.split_at(line.len() - digits);
    // Within a string the quotes would be escaped, and within an inner object another brace would follow.
    before.strip_suffix(br#","n":"#)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_at_the_end_alone() {
        let found = [
            (r#"{"type":"title","title":"x","n":12}"#, Some(12)),
            ("{\"type\":\"title\",\"title\":\"x\",\"n\":12}\r", Some(12)),
            (r#"{"type":"later","inner":{"a":1,"n":5}}"#, None),
            (r#"{"type":"title","title":",\"n\":5}"}"#, None),
            (r#"{"type":"title","n":5,"title":"x"}"#, None),
            (r#"{"type":"title","title":"x","n":}"#, None),
            ("", None),
        ];
        for (line, count) in found {
            assert_eq!(count_at_end(line.as_bytes()), count, "{line}");
        }
    }

    #[test]
    fn what_is_new_is_told_from_what_is_broken() {
        assert!(matches!(parse(br#"{"type":"star"}"#), Some(Line::Unknown)));
        let block = br#"{"type":"message","message":{"role":"user","content":[{"type":"video"}],"time":""},"n":1}"#;
        assert!(matches!(parse(block), Some(Line::Unknown)));
        let head = br#"{"type":"session","version":2}"#;
        assert!(matches!(parse(head), Some(Line::NewerHead(2))));
        for broken in ["", "{", "[]", "{}", "\0\0", r#"{"type":1}"#, r#""type""#] {
            assert!(parse(broken.as_bytes()).is_none(), "{broken:?}");
        }
    }
}
