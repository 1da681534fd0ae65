//! The messages of a transcript, as sessions store them and as the model receives them in every
//! turn.

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
    /// A remark for the model from zot, which the user did not write and does not see.
    Remark {
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
    /// The model's reasoning, for providers that require it to be sent back. Blocks are sent back
    /// unchanged.
    Thinking {
        /// The text; empty if the reasoning is redacted.
        text: String,
        /// The provider's signature or other data, after the model's name. Without it the provider
        /// does not accept the block. A block without text can be data about the block that
        /// follows.
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

    /// Reports whether it contains reasoning.
    pub(crate) fn has_thinking(&self) -> bool {
        self.content.iter().any(is_thinking)
    }

    /// Drops the reasoning.
    pub(crate) fn drop_thinking(&mut self) {
        self.content.retain(|block| !is_thinking(block));
    }

    /// Reports whether it contains a remark, which the user does not see.
    pub(crate) fn has_remarks(&self) -> bool {
        let is_remark = |block: &Block| matches!(block, Block::Remark { .. });
        self.content.iter().any(is_remark)
    }

    /// Returns the message with its remarks as text, which the user sees.
    pub(crate) fn with_visible_remarks(&self) -> Self {
        let mut message = self.clone();
        for block in &mut message.content {
            if let Block::Remark { text } = block {
                let text = std::mem::take(text);
                *block = Block::Text { text };
            }
        }
        message
    }

    /// Reports whether it contains an image.
    pub(crate) fn has_images(&self) -> bool {
        self.content.iter().any(|block| match block {
            Block::Image { .. } => true,
            Block::ToolResult { content, .. } => content.iter().any(is_image),
            _ => false,
        })
    }

    /// Replaces the images with remarks. Returns how many there were.
    pub(crate) fn remove_images(&mut self) -> usize {
        const REMOVED: &str = "(an image that the provider could not use)";
        let mut removed = 0;
        for block in &mut self.content {
            match block {
                Block::Image { .. } => {
                    removed += 1;
                    *block = Block::Remark {
                        text: REMOVED.to_owned(),
                    };
                }
                Block::ToolResult { content, .. } => {
                    for content in content.iter_mut().filter(|it| is_image(it)) {
                        removed += 1;
                        *content = Content::text(REMOVED);
                    }
                }
                _ => {}
            }
        }
        removed
    }

    /// Keeps only the beginning of the text in tool results.
    pub(crate) fn shorten_results(&mut self, most_bytes: usize) {
        for block in &mut self.content {
            let Block::ToolResult { content, .. } = block else {
                continue;
            };
            for content in content {
                if let Content::Text(text) = content
                    && text.text.len() > most_bytes
                {
                    let end = text.text.floor_char_boundary(most_bytes);
                    text.text.truncate(end);
                    text.text.push_str("\n[… the rest is omitted]");
                }
            }
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

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking { .. })
}

fn is_image(content: &Content) -> bool {
    matches!(content, Content::Image(_))
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
            Self::Text { text } | Self::Remark { text } | Self::Thinking { text, .. } => text.len(),
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
                Block::Thinking { .. } | Block::Remark { .. } => return None,
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
