//! A line of a session file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zot_protocol::{Object, StopReason, ToolId, ToolStatus};

use crate::{
    agent::prefix::{Prefix, Told},
    message::{Block, Message},
};

/// The format version that this program writes.
pub(super) const VERSION: u32 = 1;

/// The maximum nesting depth of a call's arguments.
const MAX_DEPTH: usize = 100;

/// The first line, which identifies the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The format version.
    pub version: u32,
    /// The unique id of the session.
    pub id: String,
    /// The working directory.
    pub cwd: String,
    /// The creation time in RFC 3339.
    pub created: String,
    /// The initial provider.
    pub provider: String,
    /// The id of the initial model.
    pub model: String,
    /// The session it was forked or imported from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// The session that another one was created from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parent {
    /// Its `id`.
    pub id: String,
    /// How many of its messages were copied.
    pub messages: u64,
}

/// A tool call made by an extension. It is not sent to models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExtensionCall {
    /// The extension that made the call.
    pub extension: String,
    /// The tool.
    pub tool: String,
    /// The arguments as the interceptors left them; `None` if they were too large to store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Object>,
    /// How the call ended.
    pub status: ToolStatus,
    /// The time in RFC 3339.
    pub time: String,
}

/// Something that the user saw but that is not part of a message. It is not sent to models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mark {
    /// The model's turn did not end normally.
    TurnEnd {
        /// How it ended.
        stop: StopReason,
        /// The error, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A tool call has ended.
    ToolEnd {
        /// The call.
        call_id: ToolId,
        /// How it ended.
        status: ToolStatus,
        /// The extension that the tool belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extension: Option<String>,
    },
}

/// A parsed line.
#[derive(Debug)]
pub(super) enum Line {
    Head(Head),
    /// A head with a newer format version.
    NewerHead(u32),
    Message(Message),
    /// The transcript was replaced with this summary.
    Compaction(Message),
    /// The transcript was cleared.
    Clear,
    Model {
        provider: String,
        model: String,
    },
    Title(String),
    ExtensionCall(ExtensionCall),
    Mark(Mark),
    /// The start of every request from here on.
    Prefix(Box<WithPrefix>),
    /// The state that the model was last told about.
    Told(Told),
    /// A line from a newer version.
    Unknown,
}

/// A line to write. `n` is the number of messages up to here. It comes last, so that it can be
/// found without parsing the line when sessions are listed.
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
    Mark {
        mark: &'a Mark,
        n: u64,
    },
    Prefix {
        prefix: &'a Prefix,
        told: &'a Told,
        n: u64,
    },
    Told {
        told: &'a Told,
        n: u64,
    },
}

impl Out<'_> {
    /// Appends the line and its newline.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let before = to.len();
        // This cannot fail for strings, numbers and maps with string keys. If it does, do not leave
        // a partial line.
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

#[derive(Deserialize)]
struct WithMark {
    mark: Mark,
}

/// The start of every request, and the state that it tells the model about.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WithPrefix {
    pub(super) prefix: Prefix,
    pub(super) told: Told,
}

#[derive(Deserialize)]
struct WithTold {
    told: Told,
}

/// Parses a line. Returns `None` if it is not a JSON object with a `type`. A known type with
/// unknown content (such as a new block type) counts as a line from a newer version.
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
        "mark" => read(line).map(|WithMark { mark }| Line::Mark(mark)),
        "prefix" => read(line).map(|prefix| Line::Prefix(Box::new(prefix))),
        "told" => read(line).map(|WithTold { told }| Line::Told(told)),
        _ => None,
    };
    Some(known.unwrap_or(Line::Unknown))
}

/// Makes a message readable by the parser, which fails at 128 levels of nesting. Arguments that are
/// nested too deeply are stored as text.
pub(super) fn storable(message: &Message) -> Cow<'_, Message> {
    let is_deep = |block: &Block| match block {
        Block::ToolCall { args, .. } => args.values().any(|value| !is_within(value, MAX_DEPTH)),
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

/// Returns the number of messages up to this line, which is stored at its end.
pub(super) fn count_at_end(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_end().strip_suffix(b"}")?;
    let digits = line
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (before, digits) = line.split_at(line.len() - digits);
    // This matches only the line's own field: in a string, the quotes would be escaped, and in a
    // nested object, another brace would follow.
    before.strip_suffix(br#","n":"#)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_count_only_at_the_end() {
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
    fn newer_lines_differ_from_damaged_ones() {
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
