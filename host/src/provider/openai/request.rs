//! Writes requests for Chat Completions.

use serde_json::{Value, json};
use zot_protocol::{Content, Reasoning};

use crate::{
    message::{Block, Message, Role, text_of},
    provider::{Model, Request, ToolSpec, catalogue::Thinks},
};

pub(super) fn body(request: &Request, model: &Model, is_original: bool) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(self::messages(&request.messages));
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(most) = request.max_output {
        let field = if is_original {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body[field] = most.into();
    }
    if let Some(effort) = effort(request, model) {
        body["reasoning_effort"] = effort.into();
    }
    body
}

/// Returns the reasoning effort, if the model supports it. Other models reject the field.
fn effort<'a>(request: &Request, model: &'a Model) -> Option<&'a str> {
    let off = model.reasoning_off.as_deref().unwrap_or("low");
    match model.thinks {
        Thinks::EffortWithoutTools if !request.tools.is_empty() => return Some(off),
        Thinks::Effort | Thinks::EffortWithoutTools => {}
        _ => return None,
    }
    Some(match request.reasoning? {
        Reasoning::Off => off,
        Reasoning::Low => "low",
        Reasoning::Medium => "medium",
        _ => "high",
    })
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema,
    }})
}

fn messages(transcript: &[Message]) -> Vec<Value> {
    let mut messages = Vec::new();
    // In this API, tool results can only contain text, so their images follow in a user message
    // after the last result.
    let mut images = Vec::new();
    for message in transcript {
        if message.role != Role::Tool {
            flush(&mut images, &mut messages);
        }
        match message.role {
            Role::User => messages.extend(user(&message.content)),
            Role::Assistant => messages.extend(assistant(&message.content)),
            Role::Tool => {
                for block in &message.content {
                    messages.extend(result(block, &mut images));
                }
            }
        }
    }
    flush(&mut images, &mut messages);
    messages
}

fn flush(images: &mut Vec<Value>, messages: &mut Vec<Value>) {
    if images.is_empty() {
        return;
    }
    let mut content = vec![json!({"type": "text", "text": "(images from the tool results above)"})];
    content.append(images);
    messages.push(json!({"role": "user", "content": content}));
}

fn user(blocks: &[Block]) -> Option<Value> {
    let has_images = blocks
        .iter()
        .any(|block| matches!(block, Block::Image { .. }));
    let parts: Vec<Value> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } if !text.is_empty() => Some(json!({"type": "text", "text": text})),
            Block::Image { mime_type, data } => Some(image(mime_type, data)),
            _ => None,
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    // Some small servers accept only plain text.
    let content: Value = if has_images {
        parts.into()
    } else {
        text_of(blocks).into()
    };
    Some(json!({"role": "user", "content": content}))
}

fn assistant(blocks: &[Block]) -> Option<Value> {
    let calls: Vec<Value> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall { id, name, args } => {
                let arguments = Value::Object(args.clone()).to_string();
                let function = json!({"name": name, "arguments": arguments});
                Some(json!({"id": id, "type": "function", "function": function}))
            }
            _ => None,
        })
        .collect();
    let text = text_of(blocks);
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = json!({"role": "assistant"});
    message["content"] = if text.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Some(message)
}

fn result(block: &Block, images: &mut Vec<Value>) -> Option<Value> {
    let Block::ToolResult {
        call_id,
        is_error,
        content,
    } = block
    else {
        return None;
    };
    let mut text = String::new();
    let mut has_image = false;
    for content in content {
        match content {
            Content::Text(part) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&part.text);
            }
            Content::Image(part) => {
                has_image = true;
                images.push(image(&part.mime_type, &part.data));
            }
            _ => {}
        }
    }
    if text.is_empty() && has_image {
        "(an image, below)".clone_into(&mut text);
    }
    if *is_error {
        text.insert_str(0, "error: ");
    }
    Some(json!({"role": "tool", "tool_call_id": call_id, "content": text}))
}

fn image(mime_type: &str, data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{mime_type};base64,{data}")}})
}
