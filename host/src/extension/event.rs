//! Events to one extension; one that is too large for a frame is cut.

use zot_protocol::{Content, Event, Object, limits::Limits};

use super::connection::Connection;
use crate::extension::RequestError;

/// Sends an event. Whatever cannot be sent has ended the connection, which is told elsewhere.
pub(crate) fn send(connection: &Connection, event: &Event, limits: &Limits) {
    let sent = connection.send(&event.clone().into());
    if let Err(RequestError::TooLarge { .. }) = sent {
        let _ = connection.send(&cut(event.clone(), limits.event_text_bytes).into());
    }
}

/// The event with its texts and contents cut to `bytes` in all, and marked so.
fn cut(mut event: Event, bytes: usize) -> Event {
    match &mut event {
        Event::UserMessage(message) => {
            cut_text(&mut message.text, bytes);
            message.truncated = true;
        }
        Event::AssistantMessage(message) => {
            cut_text(&mut message.text, bytes);
            message.truncated = true;
        }
        Event::Compact(compact) => {
            cut_text(&mut compact.summary, bytes);
            compact.truncated = true;
        }
        Event::ToolCall(call) => {
            call.tool_args = Object::new();
            call.truncated = true;
        }
        Event::ToolResult(result) => {
            cut_content(&mut result.content, bytes);
            result.tool_args = Object::new();
            result.truncated = true;
        }
        Event::TurnEnd(end) => {
            if let Some(error) = &mut end.error {
                cut_text(error, bytes);
            }
            end.truncated = true;
        }
        _ => {}
    }
    event
}

/// Cuts a text to at most `bytes` in its encoded form, between two characters. One character may need six bytes there.
pub(crate) fn cut_text(text: &mut String, bytes: usize) {
    let mut left = bytes;
    let mut end = 0;
    for (at, char) in text.char_indices() {
        let encoded = if char.is_control() || char == '"' || char == '\\' {
            6
        } else {
            char.len_utf8()
        };
        if encoded > left {
            text.truncate(end);
            return;
        }
        left -= encoded;
        end = at + char.len_utf8();
    }
}

/// Cuts the texts of a list of blocks to `bytes` in all; an image that does not fit goes whole.
pub(crate) fn cut_content(content: &mut Vec<Content>, bytes: usize) {
    let mut left = bytes;
    content.retain_mut(|block| match block {
        Content::Text(text) => {
            cut_text(&mut text.text, left);
            left -= text.text.len().min(left);
            !text.text.is_empty()
        }
        Content::Image(image) if image.data.len() <= left => {
            left -= image.data.len();
            true
        }
        _ => false,
    });
}
