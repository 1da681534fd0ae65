//! Sends events to an extension, truncated if they are too large for a frame.

use zot_protocol::{Content, Event, Object, limits::Limits};

use super::connection::Connection;
use crate::extension::RequestError;

/// Sends an event, truncated if it is too large. Any other error closes the connection, which is
/// reported elsewhere.
pub(crate) fn send(connection: &Connection, event: &Event, limits: &Limits) {
    let sent = connection.send(&event.clone().into());
    if let Err(RequestError::TooLarge { .. }) = sent {
        let _ = connection.send(&truncate(event.clone(), limits.event_text_bytes).into());
    }
}

/// Truncates the text or content of an event to about `bytes` bytes of JSON, drops its tool
/// arguments, and marks it as truncated.
fn truncate(mut event: Event, bytes: usize) -> Event {
    match &mut event {
        Event::UserMessage(message) => {
            truncate_text(&mut message.text, bytes);
            message.truncated = true;
        }
        Event::AssistantMessage(message) => {
            truncate_text(&mut message.text, bytes);
            message.truncated = true;
        }
        Event::Compact(compact) => {
            truncate_text(&mut compact.summary, bytes);
            compact.truncated = true;
        }
        Event::ToolCall(call) => {
            call.tool_args = Object::new();
            call.truncated = true;
        }
        Event::ToolResult(result) => {
            truncate_content(&mut result.content, bytes);
            result.tool_args = Object::new();
            result.truncated = true;
        }
        Event::TurnEnd(end) => {
            if let Some(error) = &mut end.error {
                truncate_text(error, bytes);
            }
            end.truncated = true;
        }
        _ => {}
    }
    event
}

/// Truncates text to at most `bytes` bytes of JSON, at a character boundary. Returns its encoded
/// length.
pub(crate) fn truncate_text(text: &mut String, bytes: usize) -> usize {
    let mut used = 0;
    for (at, char) in text.char_indices() {
        let encoded = match char {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            char if char.is_control() => 6,
            char => char.len_utf8(),
        };
        if used + encoded > bytes {
            text.truncate(at);
            break;
        }
        used += encoded;
    }
    used
}

/// An upper bound for the size of the JSON around a block's text or image, in bytes.
const BLOCK_BYTES: usize = 64;

/// Truncates a list of blocks to about `bytes` bytes of JSON in total. Text is truncated, and
/// images that do not fit are dropped. Returns whether anything was removed.
pub(crate) fn truncate_content(content: &mut Vec<Content>, bytes: usize) -> bool {
    let mut left = bytes;
    let mut cut = false;
    content.retain_mut(|block| {
        let Some(room) = left.checked_sub(BLOCK_BYTES) else {
            cut = true;
            return false;
        };
        match block {
            Content::Text(text) => {
                let before = text.text.len();
                left = room - truncate_text(&mut text.text, room);
                cut |= text.text.len() < before;
                true
            }
            Content::Image(image) if image.data.len() + image.mime_type.len() <= room => {
                left = room - image.data.len() - image.mime_type.len();
                true
            }
            _ => {
                cut = true;
                false
            }
        }
    });
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(content: &[Content]) -> usize {
        serde_json::to_string(content).expect("serialises").len()
    }

    #[test]
    fn content_within_the_limit_is_unchanged() {
        let mut content = vec![Content::text(""), Content::text("a"), Content::text("")];
        let whole = content.clone();
        assert!(!truncate_content(&mut content, 1000));
        assert_eq!(content, whole, "empty blocks too");
    }

    #[test]
    fn truncated_content_is_within_the_limit() {
        for piece in ["x", "é", "\"", "\n", "\u{1}", "\u{7f}", "𝄞"] {
            let text = piece.repeat(10_000);
            let mut content = vec![Content::text(text.clone()), Content::text(text)];
            assert!(truncate_content(&mut content, 1000));
            assert!(
                encoded(&content) <= 1000,
                "{piece:?}: {}",
                encoded(&content)
            );
        }
        let mut content = vec![Content::text(""); 10_000];
        assert!(truncate_content(&mut content, 1000));
        assert!(encoded(&content) <= 1000, "{}", encoded(&content));
    }
}
