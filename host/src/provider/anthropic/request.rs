//! Writes requests for the Messages API.

use serde_json::{Value, json};
use zot_protocol::{Content, Reasoning, ToolId};

use crate::{
    message::{Block, Message, Role},
    provider::{Model, Request, ToolSpec, catalogue::Thinks},
};

use super::answer::Signature;

pub(super) fn body(request: &Request, model: &Model) -> Value {
    let max_tokens = request
        .max_output
        .map_or(model.max_output, |most| model.max_output.min(most.into()));
    let mut body = json!({
        "model": request.model,
        "max_tokens": max_tokens,
        "stream": true,
    });
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        mark(tools.last_mut());
        body["tools"] = tools.into();
    }
    if !request.system.trim().is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        mark(Some(&mut system));
        body["system"] = json!([system]);
    }
    let mut messages = messages(&request.messages, &request.model);
    // Mark the last two user messages. The next turn reads the cache up to the last one. The
    // previous turn wrote the cache at the one before it, which must be marked again in case this
    // turn added more blocks than the provider looks back.
    let users = messages
        .iter_mut()
        .rev()
        .filter(|message| message["role"] == "user");
    for message in users.take(2) {
        mark(
            message["content"]
                .as_array_mut()
                .and_then(|blocks| blocks.last_mut()),
        );
    }
    body["messages"] = messages.into();
    think(&mut body, request, model, max_tokens);
    body
}

/// Marks the end of a prefix that the provider may cache.
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
        Thinks::Adaptive if wants => (adaptive, effort),
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

/// Reports whether the tool results belong to calls without signed reasoning, as after a switch to
/// another model. The API requires such a turn to finish without reasoning.
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

fn messages(transcript: &[Message], model: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for message in transcript {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        let blocks: Vec<Value> = message
            .content
            .iter()
            .filter_map(|block| self::block(block, model))
            .collect();
        if blocks.is_empty() {
            continue;
        }
        // The API expects tool results and the following user text in one message.
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    messages
}

fn block(block: &Block, model: &str) -> Option<Value> {
    Some(match block {
        Block::Text { text } => text_block(text)?,
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
