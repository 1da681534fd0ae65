//! The messages of a transcript, in full, as the model receives them with every turn and as
//! sessions store them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zot_protocol::{Content, Object, ToolId, rpc};

/// A message in the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content, in order.
    pub content: Vec<Block>,
    /// The time in RFC 3339.
    pub time: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a command that prompts on the user's behalf.
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
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The media type, such as `image/png`.
        mime_type: String,
        /// The image as base64.
        data: String,
    },
    /// The model's reasoning, for providers that require it to be sent back.
    Thinking {
        /// The text.
        text: String,
        /// The provider's signature. Without it the provider does not accept the block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    ToolCall {
        /// The model's id for this call.
        id: ToolId,
        /// The name of the tool.
        name: String,
        /// The arguments as the model wrote them.
        args: Object,
    },
    /// The result of a tool call.
    ToolResult {
        /// The `id` of the call.
        call_id: ToolId,
        /// Whether the call failed.
        is_error: bool,
        /// What the model sees.
        content: Vec<Content>,
    },
}

impl Message {
    /// Returns the text of all text blocks.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// Creates a message with one text block.
    pub(crate) fn of_text(role: Role, text: impl Into<String>, time: impl Into<String>) -> Self {
        Self {
            role,
            content: vec![Block::Text { text: text.into() }],
            time: time.into(),
        }
    }

    /// Returns roughly how many bytes the model has to read.
    pub(crate) fn bytes(&self) -> usize {
        self.content.iter().map(Block::bytes).sum()
    }
}

/// Returns the text of all text blocks.
pub(crate) fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A rough size for any image: about 1500 tokens at four bytes each.
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

/// Converts a message to the form that drivers receive: images are replaced by their sizes, and
/// reasoning is omitted.
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

/// Converts blocks to the form that drivers receive.
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

/// Converts a tool's content to the form that drivers receive.
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

/// Returns the decoded length of a base64 string.
fn decoded_bytes(data: &str) -> u64 {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    (data.len() / 4 * 3).saturating_sub(padding) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_see_the_size_of_an_image() {
        for (data, bytes) in [("", 0), ("aGk=", 2), ("aGkh", 3), ("aA==", 1)] {
            assert_eq!(decoded_bytes(data), bytes, "{data}");
        }
    }

    #[test]
    fn drivers_do_not_see_reasoning() {
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
