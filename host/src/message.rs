//! The messages of a transcript, whole: what the model is sent again with every turn, and what a session keeps.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zot_protocol::{Content, Object, ToolId, rpc};

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Block>,
    /// When, as RFC 3339.
    pub time: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a command's prompt on their behalf.
    User,
    /// The model.
    Assistant,
    /// The tools, with their results.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Its media type, such as `image/png`.
        mime_type: String,
        /// Its bytes as base64.
        data: String,
    },
    /// What a model thought, for the provider that wants it back.
    Thinking {
        /// The text.
        text: String,
        /// The provider's seal on it, without which it does not take it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call of a tool.
    ToolCall {
        /// The model's name for this call.
        id: ToolId,
        /// The tool.
        name: String,
        /// The arguments, as the model proposed them.
        args: Object,
    },
    /// The result of one.
    ToolResult {
        /// The `id` of the call.
        call_id: ToolId,
        /// Whether it failed.
        is_error: bool,
        /// What the model gets to see.
        content: Vec<Content>,
    },
}

impl Message {
    /// All its text.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Roughly how much a model has to take in, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.content.iter().map(Block::bytes).sum()
    }
}

/// An image is some thousand tokens, however large it is.
const IMAGE_BYTES: usize = 6_000;

impl Block {
    fn bytes(&self) -> usize {
        let of = |content: &Content| match content {
            Content::Text(text) => text.text.len(),
            Content::Image(_) => IMAGE_BYTES,
            _ => 0,
        };
        match self {
            Self::Text { text } | Self::Thinking { text, .. } => text.len(),
            Self::Image { .. } => IMAGE_BYTES,
            Self::ToolCall { args, .. } => args
                .iter()
                .map(|(name, value)| name.len() + size(value))
                .sum(),
            Self::ToolResult { content, .. } => content.iter().map(of).sum(),
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum(),
        _ => 4,
    }
}

/// As a driver sees it: images by their size, and nothing of what the model thought.
impl From<&Message> for rpc::Message {
    fn from(message: &Message) -> Self {
        let role = match message.role {
            Role::User => rpc::Role::User,
            Role::Assistant => rpc::Role::Assistant,
            Role::Tool => rpc::Role::Tool,
        };
        Self::new(role, shown(&message.content), &message.time)
    }
}

/// Blocks as a driver sees them.
pub fn shown(blocks: &[Block]) -> Vec<rpc::Block> {
    blocks
        .iter()
        .filter_map(|block| {
            Some(match block {
                Block::Text { text } => rpc::TextBlock::new(text).into(),
                Block::Image { mime_type, data } => {
                    rpc::ImageBlock::new(mime_type, decoded_bytes(data)).into()
                }
                Block::Thinking { .. } => return None,
                Block::ToolCall { id, name, args } => {
                    rpc::ToolCallBlock::new(id.clone(), name, args.clone()).into()
                }
                Block::ToolResult {
                    call_id,
                    is_error,
                    content,
                } => rpc::ToolResultBlock::new(call_id.clone(), *is_error, shown_content(content))
                    .into(),
            })
        })
        .collect()
}

/// A tool's content as a driver sees it.
pub fn shown_content(content: &[Content]) -> Vec<rpc::Block> {
    content
        .iter()
        .filter_map(|block| match block {
            Content::Text(text) => Some(rpc::TextBlock::new(&text.text).into()),
            Content::Image(image) => {
                Some(rpc::ImageBlock::new(&image.mime_type, decoded_bytes(&image.data)).into())
            }
            _ => None,
        })
        .collect()
}

/// How many bytes a base64 text stands for.
fn decoded_bytes(data: &str) -> u64 {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    (data.len() / 4 * 3).saturating_sub(padding) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_shown_by_its_size() {
        for (data, bytes) in [("", 0), ("aGk=", 2), ("aGkh", 3), ("aA==", 1)] {
            assert_eq!(decoded_bytes(data), bytes, "{data}");
        }
    }

    #[test]
    fn what_the_model_thought_is_not_shown() {
        let blocks = [
            Block::Thinking {
                text: "hm".to_owned(),
                signature: None,
            },
            Block::Text {
                text: "yes".to_owned(),
            },
        ];
        assert_eq!(shown(&blocks).len(), 1);
    }
}
