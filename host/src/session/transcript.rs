//! Repairs a transcript, so that every call is followed by its result, and every result has a call.
//!
//! A killed process leaves calls without results, and a damaged file may contain results without
//! calls. Providers reject both, so without repairs the session could not be continued. Nothing is
//! dropped: a missing result is added, and a result without a call becomes text.

use std::collections::HashSet;

use zot_protocol::{Content, ToolId};

use crate::message::{Block, Message, Role};

/// The result of a call whose result was never written.
const CANCELLED: &str = "cancelled: zot exited before this call finished";
/// Replaces the start of a conversation if it is lost.
const NO_BEGINNING: &str = "(the start of this conversation is lost)";

/// Precedes a result whose call is lost.
const NO_CALL: &str = "(result of a tool call that is lost)";

/// What was repaired.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    /// Calls that had no result.
    pub(super) calls: usize,
    /// How many of them are at the end of the conversation. The others were reported earlier, when
    /// the conversation was continued.
    pub(super) new_calls: usize,
    /// Messages with results that had no call.
    pub(super) results: usize,
}

/// Makes a transcript valid. Leaves a valid one unchanged, and is deterministic.
pub(crate) fn repair(messages: &mut Vec<Message>) -> Repairs {
    let mut repairs = Repairs::default();
    let mut whole = Vec::with_capacity(messages.len());
    // Calls that still need a result.
    let mut open: Vec<ToolId> = Vec::new();
    for mut message in messages.drain(..) {
        match message.role {
            Role::Tool => {
                let unmatched = take_unmatched(&mut message, &mut open);
                let text_message =
                    (!unmatched.is_empty()).then(|| as_text(&message.time, unmatched));
                if !message.content.is_empty() {
                    whole.push(message);
                }
                if let Some(text_message) = text_message {
                    repairs.results += 1;
                    close(&mut whole, &mut open, &mut repairs);
                    whole.push(text_message);
                }
            }
            Role::User | Role::Assistant => {
                close(&mut whole, &mut open, &mut repairs);
                if message.content.is_empty() {
                    continue;
                }
                if message.role == Role::Assistant {
                    open = calls(&message);
                }
                whole.push(message);
            }
        }
    }
    repairs.new_calls = open.len();
    close(&mut whole, &mut open, &mut repairs);
    if let Some(first) = whole.first()
        && first.role != Role::User
    {
        let beginning = Message::of_text(Role::User, NO_BEGINNING, &first.time);
        whole.insert(0, beginning);
    }
    *messages = whole;
    repairs
}

/// Adds a cancelled result for every open call.
fn close(whole: &mut Vec<Message>, open: &mut Vec<ToolId>, repairs: &mut Repairs) {
    let Some(last) = whole.last().filter(|_| !open.is_empty()) else {
        return;
    };
    repairs.calls += open.len();
    let results = open.drain(..).map(|call_id| Block::ToolResult {
        call_id,
        is_error: true,
        content: vec![Content::text(CANCELLED)],
    });
    let message = Message {
        role: Role::Tool,
        content: results.collect(),
        time: last.time.clone(),
    };
    whole.push(message);
}

fn calls(message: &Message) -> Vec<ToolId> {
    let mut seen = HashSet::new();
    let ids = message.content.iter().filter_map(|block| match block {
        Block::ToolCall { id, .. } => Some(id.clone()),
        _ => None,
    });
    ids.filter(|id| seen.insert(id.as_str().to_owned()))
        .collect()
}

/// Removes all blocks that are not the result of an open call, and closes the calls that have a
/// result here.
fn take_unmatched(message: &mut Message, open: &mut Vec<ToolId>) -> Vec<Block> {
    let blocks = std::mem::take(&mut message.content);
    let (own, unmatched) = blocks.into_iter().partition(|block| match block {
        Block::ToolResult { call_id, .. } => match open.iter().position(|id| id == call_id) {
            Some(at) => {
                open.remove(at);
                true
            }
            None => false,
        },
        _ => false,
    });
    message.content = own;
    unmatched
}

/// Converts results without a call to a user message.
fn as_text(time: &str, unmatched: Vec<Block>) -> Message {
    let mut text_message = Message::of_text(Role::User, NO_CALL, time);
    for block in unmatched {
        match block {
            Block::ToolResult { content, .. } => {
                text_message.content.extend(content.into_iter().filter_map(
                    |content| match content {
                        Content::Text(text) => Some(Block::Text { text: text.text }),
                        Content::Image(image) => Some(Block::Image {
                            mime_type: image.mime_type,
                            data: image.data,
                        }),
                        _ => None,
                    },
                ));
            }
            Block::ToolCall { .. } | Block::Thinking { .. } | Block::Remark { .. } => {}
            other => text_message.content.push(other),
        }
    }
    text_message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calling(ids: &[&str]) -> Message {
        let calls = ids.iter().map(|id| Block::ToolCall {
            id: ToolId::from(*id),
            name: "read".to_owned(),
            args: zot_protocol::Object::new(),
        });
        Message {
            role: Role::Assistant,
            content: calls.collect(),
            time: "t".to_owned(),
        }
    }

    fn results(ids: &[&str]) -> Message {
        let results = ids.iter().map(|id| Block::ToolResult {
            call_id: ToolId::from(*id),
            is_error: false,
            content: vec![Content::text(format!("result {id}"))],
        });
        Message {
            role: Role::Tool,
            content: results.collect(),
            time: "t".to_owned(),
        }
    }

    fn user() -> Message {
        Message::of_text(Role::User, "continue", "t")
    }

    /// Abbreviates each message to a word: `u` for the user, `a` for the assistant, and for tools
    /// one character per result, `!` if it is an error and `.` otherwise.
    fn shape(messages: &[Message]) -> String {
        let shape = |message: &Message| match message.role {
            Role::User => "u".to_owned(),
            Role::Assistant => "a".to_owned(),
            Role::Tool => {
                let results = message.content.iter().map(|block| match block {
                    Block::ToolResult { is_error: true, .. } => '!',
                    _ => '.',
                });
                results.collect()
            }
        };
        let shapes: Vec<_> = messages.iter().map(shape).collect();
        shapes.join(" ")
    }

    fn repaired(mut messages: Vec<Message>) -> (String, Repairs) {
        let done = repair(&mut messages);
        let once = messages.clone();
        assert_eq!(
            repair(&mut messages),
            Repairs::default(),
            "valid after the repair"
        );
        assert_eq!(messages, once, "unchanged by a second repair");
        (shape(&messages), done)
    }

    #[test]
    fn a_valid_transcript_is_unchanged() {
        let messages = vec![
            user(),
            calling(&["1", "2"]),
            results(&["1"]),
            results(&["2"]),
            user(),
        ];
        let mut same = messages.clone();
        assert_eq!(repair(&mut same), Repairs::default());
        assert_eq!(same, messages);
    }

    #[test]
    fn calls_without_results_are_cancelled() {
        let (shape, done) = repaired(vec![user(), calling(&["1", "2"])]);
        assert_eq!((shape.as_str(), done.calls), ("u a !!", 2));
        assert_eq!(done.new_calls, 2);
        let (shape, done) = repaired(vec![user(), calling(&["1", "2"]), results(&["2"])]);
        assert_eq!((shape.as_str(), done.calls), ("u a . !", 1));
        let (shape, done) = repaired(vec![
            user(),
            calling(&["1"]),
            user(),
            calling(&["2"]),
            results(&["2"]),
        ]);
        assert_eq!((shape.as_str(), done.calls), ("u a ! u a .", 1));
        assert_eq!(
            done.new_calls, 0,
            "reported when the conversation was continued"
        );
    }

    #[test]
    fn results_without_calls_become_text() {
        let (shape, done) = repaired(vec![user(), results(&["1"]), calling(&["2"])]);
        assert_eq!(shape, "u u a !");
        assert_eq!(
            done,
            Repairs {
                calls: 1,
                new_calls: 1,
                results: 1
            }
        );
        // A second result for one call.
        let (shape, _) = repaired(vec![user(), calling(&["1"]), results(&["1", "1"])]);
        assert_eq!(shape, "u a . u");
        // A result for a call that is already closed.
        let (shape, _) = repaired(vec![user(), calling(&["1"]), user(), results(&["1"])]);
        assert_eq!(shape, "u a ! u u");
    }

    #[test]
    fn a_repaired_transcript_begins_with_the_user_and_has_no_empty_messages() {
        let mut empty = user();
        empty.content.clear();
        assert_eq!(repaired(vec![empty, calling(&[])]).0, "");
        assert_eq!(repaired(vec![calling(&["1"]), results(&["1"])]).0, "u a .");
    }
}
