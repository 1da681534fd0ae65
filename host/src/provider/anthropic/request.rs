//! Writes requests for the Messages API.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use zot_protocol::{Content, Reasoning, ToolId};

use crate::{
    message::{Block, Message, Role},
    provider::{
        Model, Request, ToolSpec,
        catalogue::Thinks,
        encoded::{Encoded, elements, push_object_up_to_list, separate},
    },
};

use super::answer::Signature;

/// Marks the end of a prefix that the provider may cache.
const CACHE_MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;

/// The parameters that depend on what the server accepts.
pub(super) struct Form {
    pub(super) max_tokens: u64,
    /// Whether to send the JSON Schema of the answer.
    pub(super) output_schema: bool,
}

pub(super) fn body(
    request: &Request,
    model: &Model,
    form: &Form,
    encoded: &mut Encoded<Vec<u8>>,
) -> Bytes {
    let mut head = json!({
        "model": request.model,
        "max_tokens": form.max_tokens,
        "stream": true,
    });
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        mark(tools.last_mut());
        head["tools"] = tools.into();
        if !request.may_call {
            head["tool_choice"] = json!({"type": "none"});
        }
    }
    if !request.system.trim().is_empty() {
        let mut system = json!({"type": "text", "text": &*request.system});
        mark(Some(&mut system));
        head["system"] = json!([system]);
    }
    think(&mut head, request, model, form.max_tokens);
    if let Some(schema) = request
        .output_schema
        .as_deref()
        .filter(|_| form.output_schema)
    {
        head["output_config"]["format"] = json!({"type": "json_schema", "schema": schema});
    }
    let buffer = encoded.buffer();
    let mut body = buffer.take();
    let messages = encoded.update(&request.model, &request.messages, |message| {
        blocks(message, &request.model)
    });
    let turns = turns(messages);
    // Mark the last two user messages. The next turn reads the cache up to the last one. The
    // previous turn wrote the cache at the one before it, which must be marked again in case this
    // turn added more blocks than the provider looks back.
    let users = turns.iter().enumerate().rev();
    let users = users.filter(|(_, turn)| !turn.is_assistant);
    let first_marked = users.take(2).last().map_or(0, |(at, _)| at);
    push_object_up_to_list(&mut body, &head, "messages");
    for (at, turn) in turns.iter().enumerate() {
        separate(&mut body);
        let role = if turn.is_assistant {
            "assistant"
        } else {
            "user"
        };
        body.extend_from_slice(format!(r#"{{"role":"{role}","content":["#).as_bytes());
        for blocks in &turn.blocks {
            separate(&mut body);
            body.extend_from_slice(blocks);
        }
        if at >= first_marked && !turn.is_assistant {
            // Insert the mark before the closing brace of the last block.
            body.pop();
            body.extend_from_slice(CACHE_MARK);
        }
        body.extend_from_slice(b"]}");
    }
    body.extend_from_slice(b"]}");
    buffer.body(body)
}

/// Consecutive messages that the API expects as one, such as tool results and the following user
/// text.
struct Turn<'e> {
    is_assistant: bool,
    blocks: Vec<&'e [u8]>,
}

fn turns(messages: &[(Arc<Message>, Vec<u8>)]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn> = Vec::with_capacity(messages.len());
    for (message, blocks) in messages.iter().filter(|(_, blocks)| !blocks.is_empty()) {
        let is_assistant = message.role == Role::Assistant;
        match turns.last_mut() {
            Some(last) if last.is_assistant == is_assistant => last.blocks.push(blocks),
            _ => turns.push(Turn {
                is_assistant,
                blocks: vec![blocks],
            }),
        }
    }
    turns
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
}

/// Sets the reasoning options that the model supports.
fn think(body: &mut Value, request: &Request, model: &Model, max_tokens: u64) {
    let level = request.reasoning;
    let effort = match level {
        None => None,
        Some(Reasoning::Off | Reasoning::Low) => Some("low"),
        Some(Reasoning::Medium) => Some("medium"),
        Some(_) => Some("high"),
    };
    let wants = !matches!(level, None | Some(Reasoning::Off));
    // Without the summary, models that only write reasoning between tool calls would appear silent.
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let (thinking, effort) = match model.thinks {
        Thinks::Budget if wants && !follows_unsigned_calls(request) => {
            let most = match level {
                Some(Reasoning::Low) => 4096,
                Some(Reasoning::Medium) => 16_384,
                _ => 32_768,
            };
            // Leave room for the answer itself. 1024 is the API's minimum.
            let budget = most.min(max_tokens / 2);
            if budget < 1024 {
                return;
            }
            (json!({"type": "enabled", "budget_tokens": budget}), None)
        }
        Thinks::Adaptive | Thinks::Effort if wants => (adaptive, effort),
        Thinks::AdaptiveByDefault if level == Some(Reasoning::Off) => {
            (json!({"type": "disabled"}), None)
        }
        Thinks::AdaptiveByDefault | Thinks::AdaptiveAlways => (adaptive, effort),
        _ => return,
    };
    body["thinking"] = thinking;
    if let Some(effort) = effort {
        body["output_config"] = json!({"effort": effort});
    }
}

/// Reports whether the request ends with results of calls without signed reasoning, as after a
/// switch to another model. The API requires such a turn to finish without reasoning.
fn follows_unsigned_calls(request: &Request) -> bool {
    let mut last = request.messages.iter().rev();
    if last.next().is_none_or(|message| message.role != Role::Tool) {
        return false;
    }
    last.find(|message| message.role == Role::Assistant)
        .is_some_and(|message| {
            !message
                .content
                .iter()
                .any(|block| signed_thinking(block, &request.model).is_some())
        })
}

/// Serialises the content of a message.
fn blocks(message: &Message, model: &str) -> Vec<u8> {
    elements(message.content.iter().filter_map(|it| block(it, model)))
}

fn block(block: &Block, model: &str) -> Option<Value> {
    Some(match block {
        Block::Text { text } | Block::Remark { text } => text_block(text)?,
        Block::Image { mime_type, data } => image(mime_type, data),
        Block::Thinking { .. } => signed_thinking(block, model)?,
        Block::ToolCall { id, name, args } => {
            json!({"type": "tool_use", "id": accepted(id), "name": name, "input": args})
        }
        Block::ToolResult {
            call_id,
            is_error,
            content,
        } => {
            let content: Vec<Value> = content
                .iter()
                .filter_map(|content| match content {
                    Content::Text(text) => text_block(&text.text),
                    Content::Image(part) => Some(image(&part.mime_type, &part.data)),
                    _ => None,
                })
                .collect();
            let mut result = json!({"type": "tool_result", "tool_use_id": accepted(call_id)});
            if !content.is_empty() {
                result["content"] = content.into();
            }
            if *is_error {
                result["is_error"] = true.into();
            }
            result
        }
    })
}

/// Creates a text block. Returns `None` for blank text, which the API rejects.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn image(mime_type: &str, data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
}

/// Returns reasoning from this model, with its signature.
fn signed_thinking(block: &Block, model: &str) -> Option<Value> {
    let Block::Thinking { text, signature } = block else {
        return None;
    };
    Some(match Signature::parse(signature.as_deref()?, model)? {
        Signature::Open(signature) => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Signature::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
    })
}

/// Replaces characters that the API does not accept in an id. Ids from other providers may contain
/// them.
fn accepted(id: &ToolId) -> String {
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let id: String = id
        .as_str()
        .chars()
        .map(|c| if is_accepted(c) { c } else { '_' })
        .collect();
    if id.is_empty() { "call".to_owned() } else { id }
}
